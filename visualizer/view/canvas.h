// Draws into an ImDrawList, and remembers what was drawn where: for the pointer, and for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "visualizer/view/rect.h"
#include "visualizer/view/target.h"
#include "visualizer/view/theme.h"

struct ImDrawList;

namespace zero::view {

enum class Align : std::uint8_t { left, center, right };

struct TextStyle {
  Colour colour = 0;  // 0: the theme's text
  Font font = Font::body;
  Align align = Align::left;
  bool operator==(const TextStyle&) const = default;
};

// Something that can be pointed at. Later ones lie above earlier ones.
struct Mark {
  Rect box;
  Target target;
  Colour fill = 0;  // 0: not filled with one colour
};

// Words that were drawn: they lie within `box`.
struct Label {
  Rect box, ink;
  std::string text;  // as drawn: maybe shortened
};

// Lengths are the design's pixels, of which a HiDPI screen has several device pixels each. A
// rectangle that is not at whole pixels is drawn at the nearest ones, so that neighbours neither
// overlap nor leave a gap.
class Canvas {
 public:
  Canvas(ImDrawList* list, const Theme& theme, const Fonts& fonts);

  const Theme& theme() const { return theme_; }

  void fill(Rect box, Colour colour, float rounding = 0);
  void outline(Rect box, Colour colour, float thickness = 1, float rounding = 0);  // within `box`
  void dashed(Rect box, Colour colour);  // an outline of what could be there and is not
  void pattern(Rect box, Pattern pattern, Colour colour);
  void line(Point from, Point to, Colour colour, float thickness = 1);
  void arrow(Point from, Point to, Colour colour, float thickness = 1.5f);
  void triangle(Point a, Point b, Point c, Colour colour);
  void circle(Point center, float radius, Colour colour);

  // A filled, patterned box in the style of its category, that can be pointed at.
  void cell(Rect box, const Style& style, const Target& target);
  void mark(Rect box, const Target& target, Colour fill = 0);

  // One line of text within `box`, in the middle of its height; shortened with an ellipsis where it
  // does not fit, left out where not even two letters do, or where it is too high. Returns where
  // its ink is.
  Rect label(Rect box, std::string_view text, TextStyle style = {});
  // The same, of several lines broken at spaces; returns the height used.
  float paragraph(Rect box, std::string_view text, TextStyle style = {});
  float width_of(std::string_view text, Font font = Font::body) const;
  float line_height(Font font = Font::body) const;

  Target target_at(Point p) const;  // of the topmost mark there
  const std::vector<Mark>& marks() const { return marks_; }
  const std::vector<Label>& labels() const { return labels_; }
  ImDrawList* list() const { return list_; }

 private:
  ImFont* font(Font f) const;

  ImDrawList* list_;
  const Theme& theme_;
  const Fonts& fonts_;
  bool has_signs_;  // whether the fonts have an ellipsis and the like
  std::vector<Mark> marks_;
  std::vector<Label> labels_;
};

}  // namespace zero::view
