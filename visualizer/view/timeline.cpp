// The timeline: memory and chapters along the clock, the playhead, and the controls.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "visualizer/view/kept.h"
#include "visualizer/view/memory_curve.h"
#include "visualizer/view/story_blocks.h"
#include "visualizer/view/story_controls.h"
#include "visualizer/view/views.h"

namespace zero::view {

using namespace replay;

namespace {

// The clock along a stretch of the screen.
struct Scale {
  Rect area;
  double length = 1;
  float x(double clock) const {
    return area.x0 + static_cast<float>(clock / length) * area.width();
  }
  double clock(float at) const {
    return std::clamp(static_cast<double>((at - area.x0) / area.width()), 0.0, 1.0) * length;
  }
};

void draw_iterations(Canvas& canvas, const Blocks& blocks, const Scale& scale, Rect row,
                     float bottom) {
  const Theme& theme = canvas.theme();
  for (const Blocks::Iteration& it : blocks.iterations) {
    const Rect box{scale.x(it.begin), row.y0, scale.x(it.end), row.y1};
    if (it.begin > 0 && box.width() > 3) {
      canvas.fill({box.x0, row.y0, box.x0 + 1, bottom}, theme.faint);
    }
    const std::string name =
        it.iteration < 0 ? "start" : fmt::format("iteration {}", it.iteration + 1);
    const std::string brief = it.iteration < 0 ? "" : fmt::format("{}", it.iteration + 1);
    const bool fits = canvas.width_of(name, Font::small) + 8 < box.width();
    if (fits || canvas.width_of(brief, Font::small) + 8 < box.width()) {
      canvas.label(box.inset(4, 0), fits ? name : brief, {theme.muted, Font::small});
    }
  }
}

// Live bytes of the session's rank in the focused run: for orientation, without numbers.
void draw_curve(Canvas& canvas, const Session& session, Rect area) {
  const Theme& theme = canvas.theme();
  const int rank = session.rank_of(session.focus);
  const MemoryCurve& curve = memory_curve(session, session.focus, rank);
  const int width = static_cast<int>(area.width());
  if (width < 1 || curve.peak().total <= 0) return;
  const auto& columns = curve.columns(width);
  const Colour colour = mixed(theme.panel, theme.muted, 0.45f);
  const float high = area.height() / static_cast<float>(curve.peak().total);
  // Columns of the same height are one rectangle.
  for (std::size_t x = 0, next = 0; x < columns.size(); x = next) {
    const float height = std::round(static_cast<float>(columns[x]->total) * high);
    while (next < columns.size() &&
           std::round(static_cast<float>(columns[next]->total) * high) == height) {
      ++next;
    }
    canvas.fill({area.x0 + static_cast<float>(x), area.y1 - height,
                 area.x0 + static_cast<float>(next), area.y1},
                colour);
  }
}

void draw_blocks(Context& context, const std::vector<Block>& row, int run, const Scale& scale,
                 Rect area) {
  Canvas& canvas = context.canvas;
  const Theme& theme = canvas.theme();
  const Run& of = context.session.run(run);
  for (std::size_t i = 0, next = 0; i < row.size(); i = next) {
    // All of one step, maybe unit by unit, for the label; block by block for colour and pointer.
    for (next = i + 1; next < row.size() && row[next].same_step;) ++next;
    const Rect all{scale.x(row[i].begin), area.y0, scale.x(row[next - 1].end), area.y1};
    if (!row[i].chapter) {
      canvas.fill(all, theme.panel);
      canvas.pattern(all, Pattern::rising, theme.faint);
      continue;
    }
    const Colour fill = theme.step(row[i].number);
    for (std::size_t k = i; k < next; ++k) {
      Rect box{scale.x(row[k].begin), area.y0, scale.x(row[k].end), area.y1};
      Target target;
      target.kind = Target::Kind::chapter;
      target.run = run;
      target.event = of.chapters().empty() ? 0 : of.chapters()[*row[k].chapter].begin;
      if (box.width() >= 5) box.x1 -= 1;
      canvas.fill(box, fill);
      if (box.width() >= 1) canvas.mark(box, target, fill);
    }
    const std::string number = std::to_string(row[i].number);
    const Rect inner = all.inset(4, 0);
    if (row[i].number == 0 && of.chapters().empty()) continue;
    const std::string& caption = of.chapters()[*row[i].chapter].caption;
    if (inner.width() >= 110) {
      canvas.label(inner, caption, {theme.text, Font::small});
    } else if (all.width() >= canvas.width_of(number, Font::small) + 3) {
      canvas.label(all, number, {theme.text, Font::small, Align::center});
    }
  }
}

void draw_playhead(Canvas& canvas, const Scale& scale, double clock, float top, float bottom) {
  const Colour colour = canvas.theme().accent;
  const float x = std::round(scale.x(clock));
  canvas.fill({x - 1, top + 4, x + 1, bottom}, colour);
  canvas.triangle({x - 6, top - 2}, {x + 6, top - 2}, {x, top + 7}, colour);
}

// Presses and drags: a drag goes on outside of the timeline until the button is released.
void scrub(Context& context, const Scale& scale, Rect area) {
  Session& session = context.session;
  const Input& input = context.input;
  if (input.pressed && !session.help && area.contains(input.mouse)) session.scrubbing = true;
  if (session.scrubbing && (input.down || input.pressed)) session.seek(scale.clock(input.mouse.x));
  if (!input.down || input.released) session.scrubbing = false;
}

}  // namespace

void draw_timeline(Context& context, Rect area) {
  Canvas& canvas = context.canvas;
  Session& session = context.session;
  const Theme& theme = canvas.theme();
  draw_controls(context, area.cut_bottom(28));
  area.cut_bottom(8);
  if (area.height() < 20 || area.width() < 60) return;

  const auto& blocks = session.derived<Blocks>();
  const int runs = session.size();
  if (runs > 1) {
    // Names stand left of their rows, unless there is no room to spare.
    float gutter = 0;
    for (int r = 0; r < runs; ++r) {
      gutter = std::max(gutter, canvas.width_of(session.name(r), Font::small) + 10);
    }
    area.cut_left(std::min(gutter, area.width() * 0.15f));
  }
  const float left = area.x0;
  const Rect heading = area.cut_top(canvas.line_height(Font::small) + 2);
  const float row_height =
      std::clamp((area.height() - 14) / static_cast<float>(runs), 2.0f, runs == 1 ? 28.0f : 17.0f);
  Rect rows = area.cut_bottom(row_height * static_cast<float>(runs));
  area.cut_bottom(3);
  const Scale scale{area, std::max(1.0, session.length())};
  const Rect tracks{area.x0, heading.y0, area.x1, rows.y1};

  scrub(context, scale, tracks);
  Target scrubber;
  scrubber.kind = Target::Kind::control;
  scrubber.event = static_cast<std::size_t>(Control::scrubber);
  canvas.mark(tracks, scrubber);
  draw_curve(canvas, session, area);
  canvas.fill({area.x0, area.y1, area.x1, area.y1 + 1}, theme.faint);
  for (int r = 0; r < runs; ++r) {
    Rect row = rows.row(r, runs);
    if (row.height() >= 6) row.y1 -= 2;
    draw_blocks(context, blocks.rows[static_cast<std::size_t>(r)], r, scale, row);
    if (runs > 1) {
      const bool focused = r == session.focus;
      canvas.label({left - 200, row.y0 - 1, left - 6, row.y1 + 1}, session.name(r),
                   {focused ? theme.accent : theme.muted, Font::small, Align::right});
    }
  }
  draw_iterations(canvas, blocks, scale, heading, rows.y1);
  draw_playhead(canvas, scale, session.clock(), heading.y0, rows.y1);
}

}  // namespace zero::view
