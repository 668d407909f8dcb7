// Rectangles of the screen, in pixels; y grows downwards.
#pragma once

#include <algorithm>

namespace zero::view {

struct Point {
  float x = 0, y = 0;
  bool operator==(const Point&) const = default;
};

struct Rect {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;

  static Rect of_size(float x, float y, float width, float height) {
    return {x, y, x + width, y + height};
  }

  float width() const { return x1 - x0; }
  float height() const { return y1 - y0; }
  bool empty() const { return x1 <= x0 || y1 <= y0; }
  Point center() const { return {(x0 + x1) / 2, (y0 + y1) / 2}; }

  bool contains(Point p) const { return p.x >= x0 && p.x < x1 && p.y >= y0 && p.y < y1; }
  bool contains(const Rect& r, float slack = 0) const {
    return r.x0 >= x0 - slack && r.x1 <= x1 + slack && r.y0 >= y0 - slack && r.y1 <= y1 + slack;
  }
  bool overlaps(const Rect& r, float slack = 0) const {
    return r.x0 < x1 - slack && r.x1 > x0 + slack && r.y0 < y1 - slack && r.y1 > y0 + slack;
  }
  Rect inset(float by) const { return inset(by, by); }
  Rect inset(float dx, float dy) const { return {x0 + dx, y0 + dy, x1 - dx, y1 - dy}; }
  Rect intersection(const Rect& r) const {
    return {std::max(x0, r.x0), std::max(y0, r.y0), std::min(x1, r.x1), std::min(y1, r.y1)};
  }

  // Cuts a part off one side and returns it; what is left stays. Never cuts more than there is.
  Rect cut_top(float by) {
    Rect part = *this;
    part.y1 = y0 = std::min(y0 + by, y1);
    return part;
  }
  Rect cut_bottom(float by) {
    Rect part = *this;
    part.y0 = y1 = std::max(y1 - by, y0);
    return part;
  }
  Rect cut_left(float by) {
    Rect part = *this;
    part.x1 = x0 = std::min(x0 + by, x1);
    return part;
  }
  Rect cut_right(float by) {
    Rect part = *this;
    part.x0 = x1 = std::max(x1 - by, x0);
    return part;
  }
  // The i-th of n equal parts, `gap` apart, from left to right and from top to bottom.
  Rect column(int i, int n, float gap = 0) const {
    const float each = (width() - gap * static_cast<float>(n - 1)) / static_cast<float>(n);
    return of_size(x0 + static_cast<float>(i) * (each + gap), y0, each, height());
  }
  Rect row(int i, int n, float gap = 0) const {
    const float each = (height() - gap * static_cast<float>(n - 1)) / static_cast<float>(n);
    return of_size(x0, y0 + static_cast<float>(i) * (each + gap), width(), each);
  }
  bool operator==(const Rect&) const = default;
};

}  // namespace zero::view
