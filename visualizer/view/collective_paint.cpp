#include "visualizer/view/collective_paint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace zero::view {

using namespace replay;

namespace {

constexpr std::size_t kMostStories = 4;
constexpr float kOld = 0.16f, kSpent = 0.28f;  // how much of a colour is left

}  // namespace

const CollectiveStory& CollectiveStories::of(const Run& run, const Collective& collective) const {
  for (const auto& story : kept_) {
    if (story->is_of(collective)) return *story;
  }
  if (kept_.size() == kMostStories) kept_.erase(kept_.begin());
  kept_.push_back(std::make_unique<CollectiveStory>(run, collective));
  return *kept_.back();
}

std::string spoken(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

CollectivePainter::CollectivePainter(Context& context, int run, const CollectiveStory& story,
                                     const CollectiveLayout& layout, const Collective& collective)
    : context_(context),
      canvas_(context.canvas),
      theme_(context.canvas.theme()),
      run_(run),
      story_(story),
      layout_(layout),
      collective_(collective),
      ranks_(context.session.run(run).world_size()) {}

CollectiveShape CollectivePainter::shape_of(const CollectiveStory& story, int ranks, bool ring) {
  constexpr int kMost = 32;  // more are too small to be seen: the first ones are shown
  CollectiveShape shape;
  shape.ranks = std::min(ranks, kMost);
  shape.rows = std::clamp(static_cast<int>(story.rows().size()), 1, kMost);
  shape.sums = story.has_sums();
  shape.lanes = story.lanes();
  shape.wraps = story.wraps();
  shape.ring = ring && ranks > 1 && ranks <= 12;
  return shape;
}

void CollectivePainter::names() {
  for (int r = 0; r < layout_.shape().ranks; ++r) {
    Rect box = layout_.heading(r);
    box.y1 -= std::min(5.0f, box.height() * 0.2f);
    const RankState& state = context_.session.world(run_).ranks[static_cast<std::size_t>(r)];
    canvas_.fill(box, theme_.rank(r), 3);
    if (state.waiting()) canvas_.outline(box, theme_.warning, 2, 3);
    const bool owner = collective_.owner == r;
    if (owner) canvas_.outline(box, theme_.text, 2, 3);
    // As much as there is room for.
    const std::string name = fmt::format("rank {}", r), number = fmt::format("{}", r);
    const std::string texts[] = {owner ? name + ", owner" : name, name, number};
    for (const std::string& text : texts) {
      bool fits = false;
      for (const Font font : {Font::strong, Font::small}) {
        fits = canvas_.width_of(text, font) < box.width() - (font == Font::strong ? 6.0f : 2.0f) &&
               canvas_.line_height(font) <= box.height();
        if (!fits) continue;
        canvas_.label(box.inset(1, 0), text, {theme_.rank_ink(r), font, Align::center});
        break;
      }
      if (fits) break;
    }
  }
  if (layout_.shape().ring) return;
  const int rows = std::min(layout_.shape().rows, static_cast<int>(story_.rows().size()));
  for (int row = 0; row < rows; ++row) {
    const Rect box = layout_.row_label(row);
    if (box.empty()) continue;
    const CollectiveStory::Row& what = story_.rows()[static_cast<std::size_t>(row)];
    const std::string text = story_.rows_are_chunks() ? fmt::format("chunk {}", row)
                             : what.owner >= 0        ? fmt::format("shard {}", what.owner)
                                                      : std::string();
    const bool high = box.height() >= canvas_.line_height(Font::body);
    if (box.height() < canvas_.line_height(Font::small)) continue;
    canvas_.label(box, text, {theme_.muted, high ? Font::body : Font::small, Align::right});
  }
}

bool CollectivePainter::is_shown(const Travel& travel) const {
  const CollectiveShape& shape = layout_.shape();
  return travel.row < shape.rows && travel.source < shape.ranks && travel.destination < shape.ranks;
}

bool CollectivePainter::whole(const Content& content) const {
  return !story_.adds() && content.contributors.size() == 1;
}

// A stripe for each rank, in the rank's colour where its values are in there.
void CollectivePainter::stripes(Rect box, const Content& content, float alpha) {
  if (content.kind == Kind::nothing || content.kind == Kind::zero) return;
  if (content.kind == Kind::unknown) {
    canvas_.pattern(box, Pattern::crossed, theme_.warning);
    return;
  }
  if (whole(content)) {
    canvas_.fill(box, with_alpha(theme_.rank(content.contributors.lowest()), alpha));
    return;
  }
  const float each = box.width() / static_cast<float>(ranks_);
  const float gap = each >= 5 ? 1.0f : 0.0f;
  for (int r = 0; r < ranks_; ++r) {
    if (!content.contributors.contains(r)) continue;
    const float x = std::round(box.x0 + static_cast<float>(r) * each);
    const float end = std::round(box.x0 + static_cast<float>(r + 1) * each);
    canvas_.fill({x, box.y0, r + 1 < ranks_ ? end - gap : end, box.y1},
                 with_alpha(theme_.rank(r), alpha));
  }
}

Rect CollectivePainter::part_of(Rect box, int row, Range range) const {
  const Range all = story_.rows()[static_cast<std::size_t>(row)].range;
  const auto y = [&](std::int64_t position) {
    const double part = static_cast<double>(position - all.begin) / static_cast<double>(all.size());
    return box.y0 + box.height() * static_cast<float>(part);
  };
  return {box.x0, y(range.begin), box.x1, y(range.end)};
}

void CollectivePainter::point_at(Rect box, const Target& target) {
  canvas_.mark(box, target);
  if (target == context_.session.selected || target == context_.session.hovered) {
    canvas_.outline(box.inset(-2), theme_.accent, 2);
  }
}

void CollectivePainter::rank(const RankState& state, const Moment& moment, int rank,
                             const std::vector<EventIndex>& leaving) {
  const auto rows = static_cast<int>(
      std::min<std::size_t>(story_.rows().size(), static_cast<std::size_t>(layout_.shape().rows)));
  for (int row = 0; row < rows; ++row) {
    const Rect cell = layout_.cell(rank, row);
    pieces_.clear();
    story_.held(state, moment, rank, row, pieces_);
    if (pieces_.empty()) {
      canvas_.dashed(cell, theme_.faint);
      continue;
    }
    canvas_.fill(cell, empty());
    for (const Piece& piece : pieces_) {
      const Rect part = part_of(cell, row, piece.range);
      stripes(part, piece.content, piece.old ? kOld : piece.spent ? kSpent : 1.0f);
      const bool finished = !piece.old && (!story_.adds() || piece.content.kind == Kind::reduced);
      if (finished) canvas_.outline(part, theme_.text, part.height() > 12 ? 2.0f : 1.0f);
    }
    for (const Piece& piece : pieces_) {
      point_at(part_of(cell, row, piece.range),
               {Target::Kind::cell, run_, rank, piece.buffer, piece.begin, piece.end, 0});
    }
  }
  if (!layout_.shape().sums) return;
  sums_.clear();
  story_.sums(state, moment, rank, sums_);
  for (const auto& [row, sum] : sums_) {
    if (row >= rows) continue;
    const Rect slot = layout_.slot(rank, row);
    if (sum.spent) {
      if (std::find(leaving.begin(), leaving.end(), sum.spent_by) == leaving.end()) continue;
      stripes(slot, sum.content, kSpent);
      canvas_.dashed(slot, theme_.faint);
    } else {
      canvas_.fill(slot, empty());
      stripes(slot, sum.content, 1);
      canvas_.outline(slot, theme_.muted, 1);
    }
    point_at(slot, {Target::Kind::cell, run_, rank, sum.buffer, sum.begin, sum.end, 0});
  }
}

Way CollectivePainter::way(const Travel& travel) const {
  const auto end = [&](int rank, bool slot) {
    if (slot && layout_.shape().sums) return layout_.slot(rank, travel.row);
    return part_of(layout_.cell(rank, travel.row), travel.row, travel.range);
  };
  return layout_.way(travel.source, travel.destination, travel.row,
                     end(travel.source, travel.from_slot), end(travel.destination, travel.to_slot));
}

void CollectivePainter::legend(Rect area, Font font) {
  const bool in_a_row = font == Font::small;
  struct Item {
    std::string_view text;
    int lit;  // stripes; all: the average
    float alpha;
    bool slot;
  };
  const bool adds = story_.adds();
  std::vector<Item> items;
  if (adds) {
    items.push_back({"a rank's own values", 1, 1, false});
    if (story_.has_sums()) items.push_back({"a sum under way, in scratch", 2, 1, true});
    items.push_back({"the average of all", ranks_, 1, false});
    if (!collective_.opaque) items.push_back({"added already", 1, kSpent, false});
  } else {
    items.push_back({"the values of a rank", 1, 1, false});
    items.push_back({"from before, to be overwritten", 1, kOld, false});
  }
  const float line = canvas_.line_height(font);
  for (const Item& item : items) {
    Rect box =
        in_a_row
            ? area.cut_left(std::min(area.width(), 46 + canvas_.width_of(item.text, font) + 20))
            : area.cut_top(line + 14);
    if (box.height() < line || box.width() < 80) return;
    Rect sample = Rect::of_size(box.x0, box.center().y - 7, 36, item.slot ? 10 : 14);
    canvas_.fill(sample, empty());
    const int lit = std::min(item.lit, ranks_);
    const float each = sample.width() / static_cast<float>(adds ? ranks_ : 1);
    for (int r = 0; r < lit; ++r) {
      const float x = sample.x0 + static_cast<float>(r) * each;
      canvas_.fill({x, sample.y0, x + each, sample.y1}, with_alpha(theme_.rank(r), item.alpha));
    }
    if (item.slot) canvas_.outline(sample, theme_.muted);
    else if (item.alpha == 1 && (!adds || item.lit == ranks_))
      canvas_.outline(sample, theme_.text, 2);
    box.x0 = sample.x1 + 8;
    const Font fitting = canvas_.width_of(item.text, font) > box.width() ? Font::small : font;
    canvas_.label(box, item.text, {theme_.muted, fitting, Align::left});
  }
}

Colour CollectivePainter::empty() const {
  return mixed(theme_.panel, theme_.faint, theme_.dark ? 0.5f : 0.35f);
}

// As much of a way as is outside of the cells, with an arrow where it ends.
void CollectivePainter::line(const Way& way, Colour colour, float thickness) {
  const auto on_edge = [](const Rect& box, Point towards) {
    return Point{std::clamp(towards.x, box.x0, box.x1), std::clamp(towards.y, box.y0, box.y1)};
  };
  std::array<Point, 8> points = way.points;
  const auto count = static_cast<std::size_t>(way.count);
  if (way.straight) {
    // From edge to edge, with a step within the gap where the heights differ.
    const bool right = way.to.x0 > way.from.x0;
    const Point from{right ? way.from.x1 : way.from.x0, way.from.center().y};
    const Point to{right ? way.to.x0 : way.to.x1, way.to.center().y};
    if (from.y == to.y) return canvas_.arrow(from, to, colour, thickness);
    const float x = from.x + (to.x - from.x) * 0.35f;
    canvas_.line(from, {x, from.y}, colour, thickness);
    canvas_.line({x, from.y}, {x, to.y}, colour, thickness);
    return canvas_.arrow({x, to.y}, to, colour, thickness);
  }
  points[0] = on_edge(way.whole_from, points[1]);
  // A lane that passes through the slot ends where it comes to it.
  if (way.to.contains(points[count - 2])) {
    const bool right = points[count - 3].x < points[count - 2].x;
    points[count - 2].x = right ? way.to.x0 : way.to.x1;
    for (std::size_t i = 1; i + 2 < count; ++i) {
      canvas_.line(points[i - 1], points[i], colour, thickness);
    }
    return canvas_.arrow(points[count - 3], points[count - 2], colour, thickness);
  }
  points[count - 1] = on_edge(way.whole_to, points[count - 2]);
  for (std::size_t i = 1; i + 1 < count; ++i) {
    canvas_.line(points[i - 1], points[i], colour, thickness);
  }
  canvas_.arrow(points[count - 2], points[count - 1], colour, thickness);
}

// Plus: the receiver adds its own; equals: it takes the copy.
void CollectivePainter::sign(Point center, float radius, bool adds) {
  canvas_.circle(center, radius, theme_.text);
  const float arm = radius * 0.55f, thick = std::max(1.5f, radius * 0.25f);
  const float apart = adds ? 0 : radius * 0.28f;
  canvas_.line({center.x - arm, center.y - apart}, {center.x + arm, center.y - apart},
               theme_.background, thick);
  if (adds) {
    canvas_.line({center.x, center.y - arm}, {center.x, center.y + arm}, theme_.background, thick);
  } else {
    canvas_.line({center.x - arm, center.y + apart}, {center.x + arm, center.y + apart},
                 theme_.background, thick);
  }
}

void CollectivePainter::message(const Transfer& transfer, float part) {
  const auto travel = story_.travel(transfer.send);
  if (!travel || !is_shown(*travel)) return;
  const Way way = this->way(*travel);
  const Rect box = way.box(part);
  canvas_.fill(box, empty());
  const std::vector<Cell>& cells = *transfer.content;
  const auto size =
      static_cast<float>(std::max<std::int64_t>(1, cells.empty() ? 1 : cells.back().end));
  for (const Cell& cell : cells) {
    const Rect piece{box.x0, box.y0 + box.height() * static_cast<float>(cell.begin) / size, box.x1,
                     box.y0 + box.height() * static_cast<float>(cell.end) / size};
    stripes(piece, cell.content, 1);
  }
  canvas_.outline(box, theme_.text, 1);
  if (box.height() >= 11) {
    // At its head.
    const Point ahead = way.at(std::min(1.0f, part + 0.02f)),
                behind = way.at(std::max(0.0f, part - 0.02f));
    const float radius = std::min({8.0f, box.height() * 0.36f, box.width() * 0.3f});
    sign({ahead.x >= behind.x ? box.x1 : box.x0, box.y0}, radius, travel->adds);
  }
  point_at(box, {Target::Kind::transfer, run_, travel->source, -1, 0, 0, transfer.send});
}

void CollectivePainter::arrow(EventIndex send, Colour colour, float thickness) {
  const auto travel = story_.travel(send);
  if (!travel || !is_shown(*travel)) return;
  line(way(*travel), colour, thickness);
}

}  // namespace zero::view
