#include "visualizer/view/inspect_panel.h"

#include <fmt/format.h>

#include <cmath>

namespace zero::view {
namespace {

constexpr float kPad = 12, kKey = 84, kHeading = 48;

}  // namespace

Panel::Panel(Context& context, Rect area, const Target& of)
    : context_(context), canvas_(context.canvas) {
  Session& session = context.session;
  if (session.scrolled_of != of) {
    session.scrolled_of = of;
    session.scrolled = 0;
    session.scrolled_above = -1;
  }
  scrolled_ = session.scrolled;
  canvas_.fill(area, canvas_.theme().panel, 6);
  Target nothing{Target::Kind::control};
  nothing.event = kInspectNothing;
  canvas_.mark(area, nothing);  // a click beside the lines changes nothing
  body_ = area.inset(kPad, 8);
  if (body_.empty()) body_ = {area.x0, area.y0, area.x0, area.y0};
}

void Panel::chip(Rect box, const Style& style) {
  const Rect square = Rect::of_size(box.x0, std::round(box.center().y) - 6, 14, 12);
  canvas_.fill(square, style.fill);
  canvas_.pattern(square, style.pattern, with_alpha(style.ink, 0.3f));
}

void Panel::title(std::string_view text, std::string_view below, const Style& style) {
  Rect head = body_.cut_top(kHeading);
  const Theme& theme = canvas_.theme();
  Rect first = head.cut_top(24), second = head.cut_top(18);
  if (context_.controls) {
    const Rect hint = first.cut_right(canvas_.width_of("Esc", Font::small) + 10);
    canvas_.outline(hint.inset(0, 3), theme.faint, 1, 3);
    canvas_.label(hint, "Esc", {theme.muted, Font::small, Align::center});
    first.cut_right(8);
  }
  if (style.fill) {
    chip(first, style);
    first.cut_left(20);
  }
  canvas_.label(first, text, {0, Font::strong});
  canvas_.label(second, below, {theme.muted, Font::small});
  canvas_.fill({body_.x0, body_.y0 - 3, body_.x1, body_.y0 - 2}, theme.faint);
  body_.x1 -= 6;  // the bar's
}

bool Panel::next(Rect& line) {
  const float top = body_.y0 + y_ - kLine * static_cast<float>(scrolled_);
  y_ += kLine;
  line = {body_.x0, top, body_.x1, top + kLine};
  return top >= body_.y0 - 0.5f && top + kLine <= body_.y1 + 0.5f && !body_.empty();
}

void Panel::heading(std::string_view text) {
  Rect line;
  if (next(line)) canvas_.label(line, text, {0, Font::strong});
}

void Panel::pair(std::string_view key, std::string_view value) {
  if (value.empty()) return;
  Rect line;
  if (!next(line)) return;
  canvas_.label(line.cut_left(kKey), key, {canvas_.theme().muted, Font::small});
  canvas_.label(line, value);
}

void Panel::text(std::string_view text, bool warning) {
  Rect line;
  const Theme& theme = canvas_.theme();
  if (next(line)) canvas_.label(line, text, {warning ? theme.warning : theme.muted, Font::small});
}

void Panel::paragraph(std::string_view text) {
  while (!text.empty()) {
    std::size_t end = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t space = std::min(text.find(' ', at), text.size());
      if (end > 0 && canvas_.width_of(text.substr(0, space), Font::small) > body_.width()) break;
      end = space;
      at = space + 1;
    }
    Rect line;
    if (next(line)) canvas_.label(line, text.substr(0, end), {0, Font::small});
    text.remove_prefix(std::min(text.size(), end + 1));
  }
}

void Panel::ranks(std::string_view key, const replay::RankSet& ranks, int world_size) {
  Rect line;
  if (!next(line)) return;
  const Theme& theme = canvas_.theme();
  canvas_.label(line.cut_left(kKey), key, {theme.muted, Font::small});
  // Of every rank a chip, filled where it contributed, as long as they have room.
  constexpr float kChip = 20;
  if (line.width() >= static_cast<float>(world_size) * (kChip + 3)) {
    for (int r = 0; r < world_size; ++r) {
      const Rect chip = line.cut_left(kChip).inset(0, 2);
      line.cut_left(3);
      const bool in = ranks.contains(r);
      if (in) canvas_.fill(chip, theme.rank(r), 3);
      canvas_.outline(chip, in ? theme.rank(r) : theme.faint, 1, 3);
      canvas_.label(chip, std::to_string(r),
                    {in ? theme.rank_ink(r) : theme.faint, Font::small, Align::center});
    }
    return;
  }
  canvas_.label(line, fmt::format("{} of {} ranks", ranks.size(), world_size));
}

void Panel::numbers(std::string_view name, std::string_view first, std::string_view second,
                    const Style* style, const Target& target) {
  Rect line;
  if (!next(line)) return;
  const Theme& theme = canvas_.theme();
  if (target) {
    canvas_.mark(line, target);
    if (context_.controls && line.contains(context_.input.mouse)) {
      canvas_.fill(line, mixed(theme.panel, theme.faint, 0.4f), 3);
    }
  }
  if (style) {
    chip(line, *style);
    line.cut_left(20);
  }
  const float column = second.empty() ? 110 : std::min(96.0f, line.width() * 0.31f);
  if (!second.empty()) {
    canvas_.label(line.cut_right(column), second, {theme.muted, Font::small, Align::right});
  }
  canvas_.label(line.cut_right(column), first, {0, Font::small, Align::right});
  canvas_.label(line, name, {0, Font::small});
}

bool Panel::happened(std::string_view number, std::string_view text, std::string_view at,
                     bool to_come, bool marked, const Target& target) {
  Rect line;
  if (!next(line)) return false;
  const Theme& theme = canvas_.theme();
  const bool over = context_.controls && line.contains(context_.input.mouse);
  if (over) canvas_.fill(line, mixed(theme.panel, theme.faint, 0.4f), 3);
  if (marked) canvas_.fill({line.x0, line.y0 + 2, line.x0 + 3, line.y1 - 2}, theme.accent);
  canvas_.mark(line, target);
  const bool pressed = over && context_.input.pressed;
  const Colour colour = to_come ? mixed(theme.muted, theme.panel, 0.35f) : theme.text;
  line.cut_left(8);
  canvas_.label(line.cut_left(30), number, {theme.muted, Font::small});
  const float width = canvas_.width_of(at, Font::small) + 1;
  canvas_.label(line.cut_right(width), at, {theme.muted, Font::small, Align::right});
  line.cut_right(8);
  canvas_.label(line, text, {colour, Font::small});
  return pressed;
}

void Panel::hold() {
  Session& session = context_.session;
  const int above = static_cast<int>(y_ / kLine);
  if (session.scrolled_above >= 0 && session.scrolled > 0) {
    session.scrolled += above - session.scrolled_above;  // from the next frame on
  }
  session.scrolled_above = above;
}

void Panel::gap() { y_ += kLine / 2; }

Panel::Sight Panel::sight(std::size_t n) const {
  const float above = kLine * static_cast<float>(scrolled_) - y_;
  const float below = above + body_.height();
  const auto lines = [n](float height) {
    return static_cast<std::size_t>(
        std::clamp(std::floor(height / kLine), 0.0f, static_cast<float>(n)));
  };
  return {lines(above), std::min(n, lines(below) + 1)};
}

void Panel::end() {
  const int all = static_cast<int>(std::ceil(y_ / kLine));
  const int room = std::max(1, static_cast<int>(body_.height() / kLine));
  const int most = std::max(0, all - room);
  Session& session = context_.session;
  const Rect reach{body_.x0 - kPad, body_.y0 - kHeading, body_.x1 + kPad, body_.y1 + kPad};
  if (context_.controls && context_.input.wheel != 0 && reach.contains(context_.input.mouse)) {
    session.scrolled -= static_cast<int>(std::lround(3 * context_.input.wheel));
  }
  session.scrolled = std::clamp(session.scrolled, 0, most);
  if (most == 0 || body_.empty()) return;
  const Theme& theme = canvas_.theme();
  const float height = body_.height();
  const float length = std::max(16.0f, height * static_cast<float>(room) / static_cast<float>(all));
  const float top =
      body_.y0 + (height - length) * static_cast<float>(scrolled_) / static_cast<float>(most);
  canvas_.fill({body_.x1 + 3, top, body_.x1 + 6, std::min(top + length, body_.y1)}, theme.faint);
}

}  // namespace zero::view
