#include "visualizer/view/stage_layout.h"

#include <algorithm>
#include <cmath>

namespace zero::view {
namespace {

constexpr float kHeading = 20;
constexpr float kWords = 15;  // a line of small text
constexpr float kBetweenGroups = 3;

// How many lines of panels a run has: one, as long as panels are not too narrow for it.
int lines_of(int runs, int ranks, Rect area) {
  if (ranks <= 8) return 1;
  int best = 1;
  float most = 0;
  for (int lines = 1; lines <= std::min(ranks, 16); ++lines) {
    const int columns = (ranks + lines - 1) / lines;
    const float width = area.width() / static_cast<float>(columns);
    const float height = area.height() / static_cast<float>(runs * lines);
    const float size = std::min(width, 1.5f * height);
    if (size > most) {
      most = size;
      best = lines;
    }
  }
  return best;
}

float gap_between(float size) { return size > 120 ? 10.0f : size > 60 ? 6.0f : 3.0f; }

}  // namespace

const Panel& StageLayout::first_panel(int run) const {
  return *std::find_if(panels.begin(), panels.end(),
                       [run](const Panel& panel) { return panel.run == run; });
}

double loose_scale_of(const Lanes& lanes) {
  double states = 0, bars = 0;
  for (const Lane& lane : lanes.all()) {
    bars += static_cast<double>(lane.bytes);
    if (!lane.passing) states += static_cast<double>(lane.bytes);
  }
  // Side by side panels are low, and the states are what is compared: most of the room is theirs.
  const double most = lanes.runs() > 1 ? bars / 4 : states;
  const double needed =
      static_cast<double>(lanes.most_loose()) / static_cast<double>(lanes.positions());
  // On the scale of all positions of a large model they are low: higher, if not out of proportion.
  constexpr double kLow = 0.5, kLowest = 0.01;
  if (needed > kLowest && needed < kLow) return 1 / needed;
  return std::min(1.0, std::max(most, 4.0) / std::max(needed, 1e-9));
}

StageLayout lay_out_stages(const Lanes& lanes, Rect area, float legend_height) {
  StageLayout layout;
  layout.legend = area.cut_bottom(legend_height);
  if (legend_height > 0) area.cut_bottom(6);
  const int runs = lanes.runs(), ranks = static_cast<int>(lanes.columns().size());
  Rect side;
  if (area.width() > 420) side = area.cut_left(area.width() > 700 ? 122.0f : 104.0f);
  const int lines = lines_of(runs, ranks, area);
  const int columns = (ranks + lines - 1) / lines;
  const float between_columns = gap_between(area.width() / static_cast<float>(columns));
  const float width = area.column(0, columns, between_columns).width();
  if (lines == 1 && width >= 30) {
    const Rect top = area.cut_top(kHeading);
    side.cut_top(kHeading);
    for (int k = 0; k < ranks; ++k) {
      layout.columns.push_back(top.column(k, columns, between_columns));
    }
  }
  const float between_rows = std::min(gap_between(area.height() / static_cast<float>(runs)), 6.0f);

  // What stands above each other in a panel, in bytes an element, and in pixels.
  float bytes = 0;
  int groups = 0;
  for (std::size_t i = 0; i < lanes.all().size(); ++i) {
    const Lane& lane = lanes.all()[i];
    bytes += static_cast<float>(lane.bytes);
    if (i > 0 && lane.category != lanes.all()[i - 1].category) ++groups;
  }
  layout.loose_scale = loose_scale_of(lanes);
  const auto loose_bytes =
      static_cast<float>(static_cast<double>(lanes.most_loose()) * layout.loose_scale /
                         static_cast<double>(lanes.positions()));
  if (loose_bytes > 0 && bytes > 0) ++groups;

  const float height = area.row(0, runs, between_rows).height();
  const float line_height = Rect{0, 0, 1, height}.row(0, lines, lines > 1 ? 4.0f : 0.0f).height();
  const bool has_heading = lines > 1 && line_height > 70 && width > 30;
  const bool has_words = line_height > (runs > 1 ? 180.0f : 115.0f) && width > 60;
  const bool has_names = line_height > 220 && width > 250;
  const float inset = width > 60 ? 4.0f : width > 24 ? 2.0f : 1.0f;
  const float rulers = line_height > 50 ? 10.0f : 5.0f;
  const float group_gap = line_height > 50 ? kBetweenGroups : 1.0f;
  const float fixed = 2 * inset + rulers + (has_heading ? kWords : 0) + (has_words ? kWords : 0) +
                      (has_names ? kWords : 0) + group_gap * static_cast<float>(groups);
  const float all_bytes = std::max(bytes + loose_bytes, 1.0f);
  layout.per_byte = std::max((line_height - fixed) / all_bytes, 0.0f);
  layout.per_position = std::max(width - 2 * inset, 0.0f) / static_cast<float>(lanes.positions());
  layout.widened = layout.per_position * static_cast<float>(lanes.smallest()) < kLeastWidth - 0.5f;

  for (int r = 0; r < runs; ++r) {
    const Rect row = area.row(r, runs, between_rows);
    if (!side.empty()) {
      layout.rows.push_back(Rect{side.x0, row.y0, side.x1 - 10, row.y1});
    }
    for (const int rank : lanes.ranks(r)) {
      const auto& all = lanes.columns();
      const auto k = static_cast<int>(std::lower_bound(all.begin(), all.end(), rank) - all.begin());
      Panel panel;
      panel.run = r;
      panel.rank = rank;
      panel.box = row.row(k / columns, lines, lines > 1 ? 4.0f : 0.0f)
                      .column(k % columns, columns, between_columns);
      Rect rest = panel.box.inset(inset);
      if (has_heading) panel.heading = rest.cut_top(kWords);
      if (has_words) panel.work = rest.cut_top(kWords);
      if (has_names) panel.names = rest.cut_top(kWords);
      panel.units = rest.cut_top(rulers * 0.5f);
      panel.shards = rest.cut_top(rulers * 0.3f);
      rest.cut_top(rulers * 0.2f);
      for (std::size_t i = 0; i < lanes.all().size(); ++i) {
        const Lane& lane = lanes.all()[i];
        if (i > 0 && lane.category != lanes.all()[i - 1].category) rest.cut_top(group_gap);
        panel.lanes.push_back(rest.cut_top(layout.per_byte * static_cast<float>(lane.bytes)));
      }
      if (loose_bytes > 0) {
        if (bytes > 0) rest.cut_top(group_gap);
        panel.loose = rest.cut_top(layout.per_byte * loose_bytes);
      }
      layout.panels.push_back(std::move(panel));
    }
  }
  return layout;
}

Rect part_of(const StageLayout& layout, Rect bar, Range range, std::int64_t bytes) {
  const float x0 = bar.x0 + layout.per_position * static_cast<float>(range.begin);
  const float x1 = bar.x0 + layout.per_position * static_cast<float>(range.end);
  const float y1 = bytes > 0 ? bar.y0 + layout.per_byte * static_cast<float>(bytes) : bar.y1;
  return Rect{x0, bar.y0, x1, y1}.intersection(bar);
}

Rect held_part_of(const StageLayout& layout, Rect bar, Range range, std::int64_t bytes) {
  Rect box = part_of(layout, bar, range, bytes);
  const float least = std::min(kLeastWidth, bar.width());
  if (range.empty() || box.width() >= least) return box;
  box.x0 = std::clamp(box.center().x - least / 2, bar.x0, bar.x1 - least);
  box.x1 = box.x0 + least;
  return box;
}

std::vector<Rect> rest_of(Rect bar, std::vector<Rect> held) {
  std::sort(held.begin(), held.end(), [](const Rect& a, const Rect& b) { return a.x0 < b.x0; });
  std::vector<Rect> rest;
  float x = bar.x0;
  for (const Rect& h : held) {
    if (h.x1 <= x) continue;  // a damaged trace's may overlap
    if (h.x0 > x) rest.push_back({x, bar.y0, h.x0, bar.y1});
    if (h.y1 < bar.y1) rest.push_back({h.x0, h.y1, h.x1, bar.y1});
    x = std::max(x, h.x1);
  }
  if (bar.x1 > x) rest.push_back({x, bar.y0, bar.x1, bar.y1});
  return rest;
}

std::vector<LooseBox> lay_out_loose(const StageLayout& layout, const Lanes& lanes,
                                    const Panel& panel, const replay::RankState& state) {
  std::vector<LooseBox> boxes;
  if (panel.loose.empty()) return boxes;
  // As many pixels of area for a byte as the bars have, or less by the scale.
  const double per_byte = static_cast<double>(layout.per_position) *
                          static_cast<double>(layout.per_byte) * layout.loose_scale /
                          static_cast<double>(panel.loose.height());
  double from_left = 0, from_right = 0;
  for (const replay::Buffer& buffer : state.buffers) {
    if (lanes.of(panel.run, panel.rank, buffer.number()) >= 0) continue;
    const event::Allocate& allocate = *buffer.info->allocate;
    const double width = static_cast<double>(allocate.bytes) * per_byte;
    Rect box = panel.loose;
    if (allocate.category == Memory::activations) {
      box.x0 += static_cast<float>(from_left);
      box.x1 = panel.loose.x0 + static_cast<float>(from_left += width);
    } else {
      box.x1 -= static_cast<float>(from_right);
      box.x0 = panel.loose.x1 - static_cast<float>(from_right += width);
    }
    boxes.push_back({&buffer, box.intersection(panel.loose)});
  }
  return boxes;
}

}  // namespace zero::view
