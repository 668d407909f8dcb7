// The stage view: rows are runs, columns are GPUs, and what each of them holds is seen as area.
#include <fmt/format.h>

#include <algorithm>

#include "visualizer/view/stage_cells.h"
#include "visualizer/view/stage_layout.h"
#include "visualizer/view/stage_legend.h"
#include "visualizer/view/stage_words.h"
#include "visualizer/view/story_waiting.h"
#include "visualizer/view/views.h"

namespace zero::view {

using namespace replay;

namespace {

class StageView {
 public:
  StageView(Context& context, Rect area)
      : context_(context),
        canvas_(context.canvas),
        theme_(context.canvas.theme()),
        session_(context.session),
        lanes_(context.session.derived<Lanes>()),
        layout_(lay_out_stages(lanes_, area, stage_legend_height(context, lanes_, area))) {}

  void draw() {
    for (std::size_t k = 0; k < layout_.columns.size(); ++k) {
      heading(layout_.columns[k], lanes_.columns()[k], Align::center);
      if (k > 0 && lanes_.columns()[k - 1] + 1 < lanes_.columns()[k]) {
        left_out(layout_.columns[k - 1], layout_.columns[k]);
      }
    }
    for (const Panel& panel : layout_.panels) draw_panel(panel);
    for (std::size_t r = 0; r < layout_.rows.size(); ++r) {
      row_heading(layout_.rows[r], static_cast<int>(r));
    }
    draw_stage_legend(context_, lanes_, layout_);
    for (const auto& [box, thickness] : glowing_) {
      canvas_.outline(Rect{box.x0 - 1, box.y0 - 1, box.x1 + 1, box.y1 + 1}, theme_.accent,
                      thickness);
    }
  }

 private:
  // A chip in the rank's colour and its number.
  void heading(Rect box, int rank, Align align) {
    constexpr float kChip = 9, kGap = 5;
    std::string words = fmt::format("GPU {}", rank);
    const Font font = box.height() >= 18 ? Font::strong : Font::small;
    if (canvas_.width_of(words, font) + kChip + kGap > box.width()) words = std::to_string(rank);
    const float width = canvas_.width_of(words, font) + kChip + kGap;
    const float x = align == Align::center ? box.center().x - width / 2 : box.x0;
    if (width > box.width() + 1) {
      canvas_.fill({box.x0, box.y1 - 5, box.x1, box.y1 - 1}, theme_.rank(rank));
      return;
    }
    const float y = box.center().y;
    canvas_.fill({x, y - kChip / 2, x + kChip, y + kChip / 2}, theme_.rank(rank), 2);
    canvas_.label({x + kChip + kGap, box.y0, box.x1, box.y1}, words, {theme_.text, font});
  }

  // Between two columns, that there are GPUs between them.
  void left_out(const Rect& before, const Rect& after) {
    const Point center{(before.x1 + after.x0) / 2, before.center().y};
    for (const float x : {-4.0f, 0.0f, 4.0f}) {
      canvas_.circle({center.x + x, center.y}, 1.2f, theme_.muted);
    }
  }

  void row_heading(Rect box, int r) {
    const RunBytes bytes = bytes_of_run(session_.world(r));
    const Panel& first = layout_.first_panel(r);
    canvas_.label(box.cut_top(20), session_.name(r), {theme_.text, Font::strong});
    // Beside the bars what they are, where each is high enough.
    const bool named = std::all_of(first.lanes.begin(), first.lanes.end(),
                                   [](const Rect& lane) { return lane.height() >= 14; });
    if (named && !first.lanes.empty()) {
      for (std::size_t i = 0; i < first.lanes.size(); ++i) {
        const Rect lane = first.lanes[i];
        const std::string& name = lanes_.all()[i].names[static_cast<std::size_t>(r)];
        canvas_.label({box.x0, std::max(lane.y0, box.y0), box.x1, lane.y1}, name,
                      {theme_.muted, Font::small, Align::right});
      }
      box.y0 = first.lanes.back().y1 + 2;
    }
    const auto line = [&](const std::string& text, TextStyle style) {
      if (box.height() >= 15) canvas_.label(box.cut_top(16), text, style);
    };
    line(short_bytes(bytes.states) + " of states", {theme_.text, Font::small});
    if (r > 0) {
      const std::int64_t change = bytes.states - bytes_of_run(session_.world(0)).states;
      if (change != 0) line(short_change(change), {theme_.accent, Font::strong});
    }
    line(short_bytes(bytes.live) + " now", {theme_.muted, Font::small});
    line(short_bytes(bytes.peak) + " peak", {theme_.muted, Font::small});
  }

  void draw_panel(const Panel& panel) {
    const Run& run = session_.run(panel.run);
    const RankState& state = session_.world(panel.run).ranks[static_cast<std::size_t>(panel.rank)];
    canvas_.fill(panel.box, theme_.panel, panel.box.width() > 60 ? 4.0f : 0.0f);
    canvas_.mark(panel.box, {Target::Kind::rank, panel.run, panel.rank, -1, 0, 0, 0});
    if (!panel.heading.empty()) heading(panel.heading, panel.rank, Align::left);
    const Busy* work = lanes_.work(panel.run, panel.rank, state.done);
    if (state.over && state.done > 0 && !state.waiting()) work = nullptr;
    rulers(panel, run, work);
    if (const auto halt = halt_of(session_, panel.run, panel.rank)) {
      const Colour colour = halt->wrong ? theme_.warning : theme_.muted;
      if (!panel.work.empty()) canvas_.label(panel.work, halt->words, {colour, Font::small});
      if (halt->broken) canvas_.outline(panel.box, theme_.warning, 2);
    } else if (work) {
      words(panel, *work);
    }

    std::vector<std::vector<Rect>> held(panel.lanes.size());
    for (const Buffer& buffer : state.buffers) {
      const int lane = lanes_.of(panel.run, panel.rank, buffer.number());
      if (lane < 0) continue;
      const event::Allocate& allocate = *buffer.info->allocate;
      const Rect bar = panel.lanes[static_cast<std::size_t>(lane)];
      Drawn drawn{panel.run, panel.rank, &buffer, {}, 0, layout_.per_position, true, {}};
      drawn.box = part_of(layout_, bar, *allocate.range, bytes_of(allocate.dtype));
      drawn.x0 = bar.x0 + layout_.per_position * static_cast<float>(allocate.range->begin);
      if (drawn.box.width() < kLeastWidth - 0.5f) {
        drawn.box = held_part_of(layout_, bar, *allocate.range, bytes_of(allocate.dtype));
        drawn.x0 = drawn.box.x0;
        drawn.per_element = drawn.box.width() / static_cast<float>(allocate.range->size());
      }
      if (work) drawn.work = work->unit_range;
      draw_buffer(drawn);
      if (!lanes_.all()[static_cast<std::size_t>(lane)].passing) unit_borders(drawn, bar, run);
      held[static_cast<std::size_t>(lane)].push_back(drawn.box);
    }
    const auto loose = lay_out_loose(layout_, lanes_, panel, state);
    for (const LooseBox& box : loose) {
      const auto size = static_cast<float>(std::max<std::int64_t>(box.buffer->cells().size(), 1));
      draw_buffer({panel.run,
                   panel.rank,
                   box.buffer,
                   box.box,
                   box.box.x0,
                   box.box.width() / size,
                   false,
                   {}});
    }
    separate(panel, loose);
    absent(panel, held);
    if (session_.colouring == Colouring::compute && work && !work->unit_range.empty() &&
        !panel.lanes.empty()) {
      const Rect bars{panel.lanes.front().x0, panel.lanes.front().y0, panel.lanes.front().x1,
                      panel.lanes.back().y1};
      glowing_.push_back({part_of(layout_, bars, work->unit_range), 1.0f});
    }
  }

  void draw_buffer(const Drawn& drawn) {
    draw_cells(context_, drawn);
    const Target& selected = session_.selected;
    const Target& hovered = session_.hovered;
    for (const Target* target : {&hovered, &selected}) {
      if (target->run != drawn.run || target->rank != drawn.rank ||
          target->buffer != drawn.buffer->number()) {
        continue;
      }
      if (target->kind == Target::Kind::buffer) {
        glowing_.push_back({drawn.box, 2.0f});
      } else if (target->kind == Target::Kind::cell) {
        glowing_.push_back({drawn.part(target->begin, target->end), 2.0f});
      }
    }
    // What the last event changed.
    const World& world = session_.world(drawn.run);
    const Run& run = session_.run(drawn.run);
    if (world.position == 0 || world.position > run.size()) return;
    const EventIndex last = world.position - 1;
    if (run.rank_of(last) != drawn.rank) return;
    for (const Change& change : changes_of(run.event(last))) {
      if (change.buffer != drawn.buffer->number()) continue;
      glowing_.push_back({drawn.part(change.at, change.at + change.size), 1.0f});
    }
  }

  // Cuts what is held where one unit ends and the next begins.
  void unit_borders(const Drawn& drawn, Rect bar, const Run& run) {
    const Colour colour = with_alpha(theme_.panel, 0.5f);
    for (const event::NamedRange& unit : run.header().units) {
      const Rect box = part_of(layout_, bar, unit.range);
      if (box.width() < 5 || box.x0 < drawn.box.x0 + 2 || box.x0 > drawn.box.x1 - 2) continue;
      canvas_.fill({box.x0, drawn.box.y0, box.x0 + 1, drawn.box.y1}, colour);
    }
  }

  // Where the units are, above it the one that is worked on; and who owns what.
  void rulers(const Panel& panel, const Run& run, const Busy* work) {
    for (const event::NamedRange& unit : run.header().units) {
      const Rect name = part_of(layout_, panel.names, unit.range);
      if (canvas_.width_of(unit.name, Font::small) + 2 < name.width()) {
        canvas_.label(name, unit.name, {theme_.muted, Font::small, Align::center});
      }
      Rect box = part_of(layout_, panel.units, unit.range);
      box.y0 = box.center().y;
      if (box.width() >= 2) box.x1 -= 1;
      canvas_.fill(box, theme_.faint);
    }
    if (work && !work->range.empty()) {
      canvas_.fill(part_of(layout_, panel.units, work->range), theme_.accent);
    }
    std::vector<const event::Shard*> narrow;  // of traced ranks: seen above the others
    for (const event::Shard& shard : run.header().shards) {
      Rect box = part_of(layout_, panel.shards, shard.range);
      if (run.is_traced(shard.owner) && box.width() < kLeastWidth - 0.5f) narrow.push_back(&shard);
      if (box.width() < 1 && !run.is_traced(shard.owner)) {
        canvas_.fill(box, theme_.faint);
        continue;
      }
      if (box.width() >= 3) box.x1 -= 1;
      canvas_.fill(box, theme_.rank(shard.owner));
    }
    for (const event::Shard* shard : narrow) {
      if (shard->owner != panel.rank) continue;
      canvas_.fill(held_part_of(layout_, panel.shards, shard->range, 0), theme_.rank(panel.rank));
    }
  }

  // "block 2: attention_forward", as much of it as there is room for.
  void words(const Panel& panel, const Busy& work) {
    if (panel.work.empty()) return;
    std::string text(work.unit);
    if (!text.empty() && !work.what.empty()) text += ": ";
    text += work.what;
    if (canvas_.width_of(text, Font::small) > panel.work.width()) {
      text = work.unit.empty() ? work.what : work.unit;
    }
    canvas_.label(panel.work, text, {theme_.muted, Font::small});
  }

  // Thin lines between bars of one category, and between blocks without a bar.
  void separate(const Panel& panel, const std::vector<LooseBox>& loose) {
    for (std::size_t i = 1; i < panel.lanes.size(); ++i) {
      const Rect& bar = panel.lanes[i];
      if (lanes_.all()[i].category == lanes_.all()[i - 1].category && bar.height() >= 4) {
        canvas_.fill({bar.x0, bar.y0, bar.x1, bar.y0 + 1}, theme_.panel);
      }
    }
    for (const LooseBox& box : loose) {
      if (box.box.width() >= 4) {
        canvas_.fill({box.box.x1 - 1, box.box.y0, box.box.x1, box.box.y1}, theme_.panel);
      }
    }
  }

  // Dashed outlines of what is not here and could be; one around neighbouring bars of a category.
  void absent(const Panel& panel, const std::vector<std::vector<Rect>>& held) {
    std::vector<Rect> open;  // of the bar above
    for (std::size_t i = 0; i < panel.lanes.size(); ++i) {
      const Memory category = lanes_.all()[i].category;
      std::vector<Rect> rest;
      if (!lanes_.all()[i].passing) {
        rest = rest_of(whole_of(panel, panel.lanes[i]), held[i]);
        std::erase_if(rest, [](const Rect& r) { return r.width() < 3; });  // not dashed
        for (Rect& r : rest) {
          const auto above = std::find_if(open.begin(), open.end(), [&](const Rect& o) {
            return o.x0 == r.x0 && o.x1 == r.x1 && o.y1 == r.y0;
          });
          if (above == open.end()) continue;
          r.y0 = above->y0;
          open.erase(above);
        }
      }
      dash(open, i);
      open = std::move(rest);
      if (i + 1 == panel.lanes.size() || lanes_.all()[i + 1].category != category) {
        dash(open, i + 1);
        open.clear();
      }
    }
  }
  void dash(const std::vector<Rect>& boxes, std::size_t lane_after) {
    if (boxes.empty()) return;  // before the first lane there is none to ask for its colour
    const Style& style = theme_.category(lanes_.all()[lane_after - 1].category);
    for (const Rect& box : boxes) {
      if (box.width() < 3 || box.height() < 3) continue;
      canvas_.fill(box, theme_.background);
      canvas_.dashed(box, mixed(theme_.panel, style.fill, 0.6f));
    }
  }
  // A bar of this run: shorter where its model is smaller than another's.
  Rect whole_of(const Panel& panel, Rect bar) const {
    return part_of(
        layout_, bar,
        {0, std::max<std::int64_t>(session_.run(panel.run).header().padded_parameters, 0)});
  }

  struct Glow {
    Rect box;
    float thickness;
  };
  Context& context_;
  Canvas& canvas_;
  const Theme& theme_;
  Session& session_;
  const Lanes& lanes_;
  StageLayout layout_;
  std::vector<Glow> glowing_;
};

}  // namespace

void draw_stages(Context& context, Rect area) {
  if (area.width() < 40 || area.height() < 40) return;
  StageView(context, area).draw();
}

}  // namespace zero::view
