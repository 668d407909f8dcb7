#include "visualizer/view/story_controls.h"

#include <fmt/format.h>

#include <cmath>

#include "common/memory/bytes.h"
#include "visualizer/view/story_keys.h"

namespace zero::view {
namespace {

std::string_view hint_of(Control control, bool simulated) {
  switch (control) {
    case Control::previous_step:
      return "Previous step (up)";
    case Control::play:
      return "Play or pause (space)";
    case Control::next_step:
      return "Next step (down)";
    case Control::slower:
      return "Slower (−)";
    case Control::quicker:
      return "Quicker (+)";
    case Control::loop:
      return "Play the collective again and again (L)";
    case Control::logical:
      return "Logical time: each event gets its due (T)";
    case Control::measured:
      return simulated ? "Simulated time: as long as it would take (T)"
                       : "Measured time: as long as it took (T)";
    case Control::stages:
      return "What each GPU holds (S)";
    case Control::collective:
      return "What moves between GPUs (C)";
    case Control::memory:
      return "Memory over time (M)";
    case Control::colouring:
      return "What colours mean (O)";
    case Control::help:
      return "All keys (?)";
    case Control::none:
    case Control::scrubber:
      break;
  }
  return "";
}

std::string_view name_of(Colouring colouring) {
  switch (colouring) {
    case Colouring::category:
      return "category";
    case Colouring::storage:
      return "storage";
    case Colouring::compute:
      return "compute";
    case Colouring::values:
      return "values";
  }
  return "";
}

class Row {
 public:
  Row(Context& context, Rect area) : context_(context), area_(area) {}

  // From the left, from the right; an empty rectangle where there is no room.
  Rect left(float width, float gap) {
    if (area_.width() < width + gap) return {};
    const Rect box = area_.cut_left(width);
    area_.cut_left(gap);
    return box;
  }
  Rect right(float width, float gap) {
    if (area_.width() < width + gap) return {};
    const Rect box = area_.cut_right(width);
    area_.cut_right(gap);
    return box;
  }
  Rect rest() const { return area_; }
  Control hovered() const { return hovered_; }

  // The box of a button; false when it is not there.
  bool button(Rect box, Control control, bool active = false) {
    if (box.empty()) return false;
    const Theme& theme = canvas().theme();
    Target target;
    target.kind = Target::Kind::control;
    target.event = static_cast<std::size_t>(control);
    const bool over = !context_.session.help && box.contains(context_.input.mouse);
    if (over) hovered_ = control;
    canvas().fill(box,
                  active ? mixed(theme.panel, theme.accent, 0.22f)
                  : over ? mixed(theme.panel, theme.text, 0.14f)
                         : theme.panel,
                  5);
    if (active) canvas().outline(box, theme.accent, 1, 5);
    canvas().mark(box, target);
    return true;
  }
  void words(Rect box, Control control, std::string_view text, bool active = false) {
    if (!button(box, control, active)) return;
    canvas().label(box.inset(4, 0), text, {0, Font::small, Align::center});
  }
  Canvas& canvas() { return context_.canvas; }

 private:
  Context& context_;
  Rect area_;
  Control hovered_ = Control::none;
};

void triangle_right(Canvas& canvas, Point c, float size, Colour ink) {
  canvas.triangle({c.x - size * 0.8f, c.y - size}, {c.x - size * 0.8f, c.y + size},
                  {c.x + size, c.y}, ink);
}
void triangle_left(Canvas& canvas, Point c, float size, Colour ink) {
  canvas.triangle({c.x + size * 0.8f, c.y - size}, {c.x - size, c.y},
                  {c.x + size * 0.8f, c.y + size}, ink);
}

void draw_transport(Row& row, const Session& session) {
  Canvas& canvas = row.canvas();
  const Colour ink = canvas.theme().text;
  Rect box = row.left(34, 4);
  if (row.button(box, Control::previous_step)) {
    const Point c = box.center();
    canvas.fill({c.x - 7, c.y - 6, c.x - 5, c.y + 6}, ink);
    triangle_left(canvas, {c.x + 2, c.y}, 6, ink);
  }
  box = row.left(46, 4);
  if (row.button(box, Control::play, session.playing)) {
    const Point c = box.center();
    if (session.playing) {
      canvas.fill({c.x - 6, c.y - 7, c.x - 2, c.y + 7}, ink);
      canvas.fill({c.x + 2, c.y - 7, c.x + 6, c.y + 7}, ink);
    } else {
      triangle_right(canvas, c, 8, ink);
    }
  }
  box = row.left(34, 12);
  if (row.button(box, Control::next_step)) {
    const Point c = box.center();
    triangle_right(canvas, {c.x - 2, c.y}, 6, ink);
    canvas.fill({c.x + 5, c.y - 6, c.x + 7, c.y + 6}, ink);
  }
}

void draw_speed(Row& row, const Session& session) {
  Canvas& canvas = row.canvas();
  const Colour ink = canvas.theme().text;
  const Rect slower = row.left(24, 0), speed = row.left(46, 0), quicker = row.left(24, 12);
  if (quicker.empty()) return;
  if (row.button(slower, Control::slower)) {
    const Point c = slower.center();
    canvas.fill({c.x - 5, c.y - 1, c.x + 5, c.y + 1}, ink);
  }
  canvas.label(speed, fmt::format("{:g}×", session.speed), {0, Font::body, Align::center});
  if (row.button(quicker, Control::quicker)) {
    const Point c = quicker.center();
    canvas.fill({c.x - 5, c.y - 1, c.x + 5, c.y + 1}, ink);
    canvas.fill({c.x - 1, c.y - 5, c.x + 1, c.y + 5}, ink);
  }
}

// Where it is, in the focused run's own terms; longer or shorter as there is room.
std::string moment_text(const Session& session, bool brief) {
  const replay::Run& run = session.run(session.focus);
  const auto position = static_cast<std::int64_t>(session.world(session.focus).position);
  std::string text = brief ? with_commas(position)
                           : fmt::format("event {} of {}", with_commas(position),
                                         with_commas(static_cast<std::int64_t>(run.size())));
  if (run.order() == replay::Order::measured && run.size() > 0) {
    const double since = session.time(session.focus) - static_cast<double>(run.time(0));
    const std::string time = run.is_simulated() && since >= 1e10
                                 ? fmt::format("{:.3f} s", since / 1e9)
                                 : fmt::format("{:.3f} ms", since / 1e6);
    text = brief ? time : time + "   " + text;
  }
  return text;
}

}  // namespace

void press(Session& session, Control control) {
  switch (control) {
    case Control::previous_step:
      session.previous_step();
      break;
    case Control::play:
      session.play_or_pause();
      break;
    case Control::next_step:
      session.next_step();
      break;
    case Control::slower:
      change_speed(session, -1);
      break;
    case Control::quicker:
      change_speed(session, 1);
      break;
    case Control::loop:
      session.toggle_loop();
      break;
    case Control::logical:
    case Control::measured: {
      const bool logical = session.order() == replay::Order::logical;
      if (logical != (control == Control::logical)) toggle_order(session);
      break;
    }
    case Control::stages:
      session.view = View::stages;
      break;
    case Control::collective:
      session.view = View::collective;
      break;
    case Control::memory:
      session.view = View::memory;
      break;
    case Control::colouring:
      next_colouring(session);
      break;
    case Control::help:
      session.help = true;
      break;
    case Control::none:
    case Control::scrubber:
      break;
  }
}

void draw_controls(Context& context, Rect area) {
  Session& session = context.session;
  Canvas& canvas = context.canvas;
  Row row(context, area);
  draw_transport(row, session);
  row.words(row.right(30, 12), Control::help, "?");
  const View view = session.view;
  row.words(row.right(66, 2), Control::memory, "Memory", view == View::memory);
  row.words(row.right(76, 2), Control::collective, "Collective", view == View::collective);
  row.words(row.right(60, 12), Control::stages, "Stages", view == View::stages);
  draw_speed(row, session);
  row.words(row.left(46, 12), Control::loop, "Loop", session.loop);
  const bool logical = session.order() == replay::Order::logical;
  row.words(row.left(58, 2), Control::logical, "Logical", logical);
  const bool simulated = session.run(session.focus).is_simulated();
  row.words(row.left(70, 12), Control::measured, simulated ? "Simulated" : "Measured", !logical);
  row.words(row.right(124, 12), Control::colouring,
            fmt::format("Colours: {}", name_of(session.colouring)));

  const std::string_view hint = hint_of(row.hovered(), simulated);
  const TextStyle muted{canvas.theme().muted, Font::small};
  const Rect rest = row.rest();
  if (!hint.empty()) {
    canvas.label(rest, hint, muted);
  } else {
    std::string moment = moment_text(session, false);
    if (canvas.width_of(moment, Font::small) > rest.width()) moment = moment_text(session, true);
    canvas.label(rest, moment, muted);
  }
  if (context.input.pressed && row.hovered() != Control::none) press(session, row.hovered());
}

}  // namespace zero::view
