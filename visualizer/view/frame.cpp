#include "visualizer/view/frame.h"

namespace zero::view {

Parts parts_of(const Session& session, Rect area, Content content) {
  Parts parts;
  Rect rest = area.inset(14, 10);
  // Side by side it has one line more, for what the other runs do.
  const bool more = session.size() > 1 && area.height() >= 480;
  parts.caption = rest.cut_top(more ? 74.0f : 58.0f);
  if (content == Content::window) {
    parts.timeline = rest.cut_bottom(std::min(150.0f, rest.height() * 0.3f));
    rest.cut_bottom(10);
  }
  if (content == Content::window || content == Content::picture) {
    parts.side = rest.cut_right(std::clamp(rest.width() * 0.3f, 280.0f, 460.0f));
    rest.cut_right(14);
    // What is selected needs all of the room.
    const bool both = session.view != View::collective && session.size() == 1 && !session.selected;
    if (both) {
      parts.side_top = parts.side.cut_top(parts.side.height() * 0.55f);
      parts.side.cut_top(10);
    }
  }
  parts.main = rest;
  return parts;
}

void draw_frame(Canvas& canvas, Session& session, const Input& input, Rect area, Content content) {
  // Under the help nothing can be pointed at: a press closes it.
  const bool covered = session.help;
  Input seen = input;
  if (covered) {
    seen = Input{};
    seen.down = input.down;
    seen.seconds = input.seconds;
  }
  Context context{canvas, session, seen, content == Content::window};
  canvas.fill(area, canvas.theme().background);
  const Parts parts = parts_of(session, area, content);
  draw_caption(context, parts.caption);
  if (content == Content::strip) {
    if (const replay::Collective* shown = session.collective(session.focus)) {
      draw_collective_strip(context, parts.main, session.focus, *shown);
    }
    return;
  }
  switch (session.view) {
    case View::stages:
      draw_stages(context, parts.main);
      break;
    case View::collective:
      draw_collective(context, parts.main, session.focus);
      break;
    case View::memory:
      draw_memory(context, parts.main);
      break;
  }
  if (!parts.side_top.empty()) draw_collective(context, parts.side_top, session.focus);
  if (!parts.side.empty()) {
    if (session.selected) {
      draw_inspect(context, parts.side);
    } else {
      draw_bytes(context, parts.side);
    }
  }
  if (!context.controls) return;
  draw_timeline(context, parts.timeline);
  session.hovered = session.scrubbing ? Target{} : canvas.target_at(seen.mouse);
  // A press in the timeline goes there, and leaves what is selected.
  if (seen.pressed && session.hovered.kind != Target::Kind::control &&
      !parts.timeline.contains(seen.mouse)) {
    session.selected = session.hovered;
  }
  if (session.hovered) draw_tooltip(context, area);
  session.end_frame();
  if (covered && input.pressed) session.help = false;
  if (session.help) draw_help(context, area);
}

}  // namespace zero::view
