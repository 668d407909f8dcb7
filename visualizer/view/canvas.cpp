#include "visualizer/view/canvas.h"

#include <imgui.h>

#include <cmath>

namespace zero::view {
namespace {

ImVec2 vec(Point p) { return {p.x, p.y}; }
// At whole pixels; what lies far outside of any screen is cut off, so that no pattern is drawn
// there.
Rect snapped(Rect r) {
  static constexpr float kFar = 32768;
  const auto at = [](float v) { return std::clamp(std::round(v), -kFar, kFar); };
  return {at(r.x0), at(r.y0), at(r.x1), at(r.y1)};
}
constexpr std::string_view kEllipsis = "\u2026";

// The bytes of the UTF-8 character that begins at `at`.
std::size_t bytes_at(std::string_view text, std::size_t at) {
  std::size_t n = 1;
  while (at + n < text.size() && (static_cast<unsigned char>(text[at + n]) & 0xc0) == 0x80) ++n;
  return n;
}

// What a font without typographic signs, ImGui's own, shows instead of them.
struct Sign {
  std::string_view sign, letters;
};
constexpr Sign kSigns[] = {{"\u2026", "..."}, {"\u2212", "-"},  {"\u2013", "-"},
                           {"\u2014", "-"},   {"\u2264", "<="}, {"\u2265", ">="}};
constexpr ImWchar kAnySign = 0x2026;

std::string in_letters(std::string_view text) {
  std::string result(text);
  for (const Sign& s : kSigns) {
    for (auto at = result.find(s.sign); at != std::string::npos; at = result.find(s.sign, at)) {
      result.replace(at, s.sign.size(), s.letters);
    }
  }
  return result;
}

}  // namespace

Canvas::Canvas(ImDrawList* list, const Theme& theme, const Fonts& fonts)
    : list_(list),
      theme_(theme),
      fonts_(fonts),
      has_signs_(font(Font::body)->FindGlyphNoFallback(kAnySign) != nullptr) {}

ImFont* Canvas::font(Font f) const { return fonts_.by_use[static_cast<std::size_t>(f)]; }

void Canvas::fill(Rect box, Colour colour, float rounding) {
  box = snapped(box);
  if (box.empty()) return;
  list_->AddRectFilled({box.x0, box.y0}, {box.x1, box.y1}, colour, rounding);
}

void Canvas::outline(Rect box, Colour colour, float thickness, float rounding) {
  box = snapped(box);
  if (box.empty()) return;
  if (rounding > 0) {
    const float in = thickness / 2;
    list_->AddRect({box.x0 + in, box.y0 + in}, {box.x1 - in, box.y1 - in}, colour, rounding, 0,
                   thickness);
    return;
  }
  const Rect sides[] = {{box.x0, box.y0, box.x1, box.y0 + thickness},
                        {box.x0, box.y1 - thickness, box.x1, box.y1},
                        {box.x0, box.y0 + thickness, box.x0 + thickness, box.y1 - thickness},
                        {box.x1 - thickness, box.y0 + thickness, box.x1, box.y1 - thickness}};
  for (const Rect& side : sides) fill(side, colour);
}

void Canvas::dashed(Rect box, Colour colour) {
  box = snapped(box);
  if (box.empty()) return;
  constexpr float kDash = 4, kPeriod = 7;
  for (float x = box.x0; x < box.x1; x += kPeriod) {
    fill({x, box.y0, std::min(x + kDash, box.x1), box.y0 + 1}, colour);
    fill({x, box.y1 - 1, std::min(x + kDash, box.x1), box.y1}, colour);
  }
  for (float y = box.y0; y < box.y1; y += kPeriod) {
    fill({box.x0, y, box.x0 + 1, std::min(y + kDash, box.y1)}, colour);
    fill({box.x1 - 1, y, box.x1, std::min(y + kDash, box.y1)}, colour);
  }
}

void Canvas::pattern(Rect box, Pattern kind, Colour colour) {
  box = snapped(box);
  if (kind == Pattern::plain || box.width() < 5 || box.height() < 5) return;
  constexpr float kApart = 6;
  // Patterns of neighbouring boxes meet: they are laid out on the screen, not on the box.
  const auto first = [](float from) { return std::ceil(from / kApart) * kApart; };
  const auto slanted = [&](float sign) {
    // The lines x + sign * y = c.
    const float a = box.x0 + (sign > 0 ? box.y0 : -box.y1);
    const float b = box.x1 + (sign > 0 ? box.y1 : -box.y0);
    for (float c = first(a); c < b; c += kApart) {
      // Where it enters and leaves the box, from the left to the right.
      const float y_of_left = (c - box.x0) * sign, y_of_right = (c - box.x1) * sign;
      const float y0 = std::clamp(y_of_left, box.y0, box.y1);
      const float y1 = std::clamp(y_of_right, box.y0, box.y1);
      list_->AddLine({c - sign * y0, y0}, {c - sign * y1, y1}, colour, 1.0f);
    }
  };
  switch (kind) {
    case Pattern::rising:
      slanted(1);
      break;
    case Pattern::falling:
      slanted(-1);
      break;
    case Pattern::crossed:
      slanted(1);
      slanted(-1);
      break;
    case Pattern::dots:
      for (float y = first(box.y0 + 1); y + 2 < box.y1; y += kApart)
        for (float x = first(box.x0 + 1); x + 2 < box.x1; x += kApart)
          fill(Rect::of_size(x, y, 2, 2), colour);
      break;
    case Pattern::horizontal:
      for (float y = first(box.y0 + 1); y + 1 < box.y1; y += kApart)
        fill({box.x0, y, box.x1, y + 1}, colour);
      break;
    case Pattern::vertical:
      for (float x = first(box.x0 + 1); x + 1 < box.x1; x += kApart)
        fill({x, box.y0, x + 1, box.y1}, colour);
      break;
    case Pattern::plain:
      break;
  }
}

void Canvas::line(Point from, Point to, Colour colour, float thickness) {
  list_->AddLine(vec(from), vec(to), colour, thickness);
}

void Canvas::arrow(Point from, Point to, Colour colour, float thickness) {
  const float dx = to.x - from.x, dy = to.y - from.y;
  const float length = std::sqrt(dx * dx + dy * dy);
  if (length < 1) return;
  const float ux = dx / length, uy = dy / length;
  const float head = std::min(length, 4 + 2 * thickness), half = head * 0.5f;
  const Point neck{to.x - ux * head, to.y - uy * head};
  line(from, neck, colour, thickness);
  triangle(to, {neck.x - uy * half, neck.y + ux * half}, {neck.x + uy * half, neck.y - ux * half},
           colour);
}

void Canvas::triangle(Point a, Point b, Point c, Colour colour) {
  list_->AddTriangleFilled(vec(a), vec(b), vec(c), colour);
}

void Canvas::circle(Point center, float radius, Colour colour) {
  list_->AddCircleFilled(vec(center), radius, colour);
}

void Canvas::cell(Rect box, const Style& style, const Target& target) {
  fill(box, style.fill);
  pattern(box, style.pattern, with_alpha(style.ink, 0.22f));
  mark(box, target, style.fill);
}

void Canvas::mark(Rect box, const Target& target, Colour fill) {
  if (!box.empty()) marks_.push_back({box, target, fill});
}

Rect Canvas::label(Rect box, std::string_view words, TextStyle style) {
  const std::string spelled = has_signs_ ? std::string() : in_letters(words);
  const std::string_view text = has_signs_ ? words : spelled;
  const float height = line_height(style.font);
  const Rect nowhere{box.x0, box.y0, box.x0, box.y0};
  if (text.empty() || height > box.height() + 2) return nowhere;
  std::string shown(text);
  float width = width_of(shown, style.font);
  if (width > box.width()) {
    const float room = box.width() - width_of(kEllipsis, style.font);
    std::size_t kept = 0, letters = 0;
    while (kept < text.size()) {
      const std::size_t next = kept + bytes_at(text, kept);
      if (width_of(text.substr(0, next), style.font) > room) break;
      kept = next;
      ++letters;
    }
    if (letters < 2) return nowhere;
    while (kept > 0 && text[kept - 1] == ' ') --kept;
    shown = std::string(text.substr(0, kept)).append(has_signs_ ? kEllipsis : kSigns[0].letters);
    width = width_of(shown, style.font);
  }
  float x = box.x0;
  if (style.align == Align::center) x = box.center().x - width / 2;
  if (style.align == Align::right) x = box.x1 - width;
  x = std::round(std::max(x, box.x0));
  const float y = std::round(box.center().y - height / 2);
  const ImFont* f = font(style.font);
  list_->AddText(f, height, {x, y}, style.colour ? style.colour : theme_.text, shown.data(),
                 shown.data() + shown.size());
  const Rect ink = Rect::of_size(x, y, width, height);
  labels_.push_back({box, ink, std::move(shown)});
  return ink;
}

float Canvas::paragraph(Rect box, std::string_view text, TextStyle style) {
  const float height = line_height(style.font);
  float used = 0;
  while (!text.empty() && used + height <= box.height() + 2) {
    std::size_t end = 0;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t space = text.find(' ', at);
      if (space == std::string_view::npos) space = text.size();
      if (end > 0 && width_of(text.substr(0, space), style.font) > box.width()) break;
      end = space;
      at = space + 1;
    }
    const bool last = used + 2 * height > box.height() + 2;
    label({box.x0, box.y0 + used, box.x1, box.y0 + used + height},
          last ? text : text.substr(0, end), style);
    used += height;
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return used;
}

float Canvas::width_of(std::string_view words, Font f) const {
  const ImFont* face = font(f);
  const std::string spelled = has_signs_ ? std::string() : in_letters(words);
  const std::string_view text = has_signs_ ? words : spelled;
  return face->CalcTextSizeA(line_height(f), 1e9f, 0, text.data(), text.data() + text.size()).x;
}

float Canvas::line_height(Font f) const { return font(f)->FontSize / fonts_.scale; }

Target Canvas::target_at(Point p) const {
  for (auto mark = marks_.rbegin(); mark != marks_.rend(); ++mark) {
    if (mark->box.contains(p)) return mark->target;
  }
  return {};
}

}  // namespace zero::view
