// The integers of a triangle: its edges, and what is linear over it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace zero::raster {

constexpr int kSubpixel = 16;     // parts of a pixel that corners can lie at
constexpr int kFurthest = 32767;  // pixels: as far as corners may be, so that 64 bits suffice

// Position in 1/16 of a pixel, texture coordinates, and colour as 0xAABBGGRR.
struct Corner {
  std::int32_t x = 0, y = 0;
  std::int32_t u = 0, v = 0;
  std::uint32_t colour = 0;
};

// The first pixel whose centre is not before `at`: ceil((at - 8) / 16).
inline int first_pixel_at(std::int32_t at) { return (at + kSubpixel / 2 - 1) >> 4; }

inline std::int64_t floor_div(std::int64_t n, std::int64_t d) {  // d > 0
  const std::int64_t q = n / d;
  return n % d < 0 ? q - 1 : q;
}

// A line between two corners: at(x, y) of a pixel's centre is `least` or more on the inner side.
struct Edge {
  std::int64_t at_origin = 0, dx = 0, dy = 0;
  std::int64_t least = 0;

  // Of a triangle whose corners go round clockwise on the screen. A left edge goes up, a top edge
  // goes right; a centre on another edge belongs to the neighbour.
  Edge(const Corner& from, const Corner& to) {
    const std::int64_t run = to.x - from.x, rise = to.y - from.y;
    dx = -rise * kSubpixel;
    dy = run * kSubpixel;
    at_origin = run * (kSubpixel / 2 - from.y) - rise * (kSubpixel / 2 - from.x);
    least = rise < 0 || (rise == 0 && run > 0) ? 0 : 1;
  }
  std::int64_t at(int x, int y) const { return at_origin + dx * x + dy * y; }
};

// Narrows the pixels [x0, x1) of a row to those on the inner side of an edge.
inline void narrow(const Edge& edge, int y, int& x0, int& x1) {
  const std::int64_t need = edge.least - edge.at(0, y);  // dx * x >= need
  if (edge.dx > 0) {
    const std::int64_t first = -floor_div(-need, edge.dx);
    x0 = static_cast<int>(std::clamp<std::int64_t>(first, x0, std::max(x0, x1)));
  } else if (edge.dx < 0) {
    const std::int64_t end = floor_div(-need, -edge.dx) + 1;
    x1 = static_cast<int>(std::clamp<std::int64_t>(end, std::min(x0, x1), x1));
  } else if (need > 0) {
    x1 = x0;
  }
}

// How much a quantity grows from one pixel to the next: step / d, exactly.
struct Slope {
  std::int64_t whole = 0, rest = 0;

  Slope() = default;
  Slope(std::int64_t step, std::int64_t d) : whole(floor_div(step, d)), rest(step - whole * d) {}
};

// floor(n / d) along a row of pixels, exactly, without dividing at each.
class Linear {
 public:
  Linear() = default;
  Linear(std::int64_t n, std::int64_t d, Slope slope)
      : d_(d), whole_(floor_div(n, d)), rest_(n - whole_ * d), slope_(slope) {}

  // The value at this pixel; goes on to the next.
  std::int32_t next() {
    const auto value = static_cast<std::int32_t>(whole_);
    whole_ += slope_.whole;
    rest_ += slope_.rest;
    if (rest_ >= d_) {
      rest_ -= d_;
      ++whole_;
    }
    return value;
  }

 private:
  std::int64_t d_ = 1, whole_ = 0, rest_ = 0;
  Slope slope_;
};

}  // namespace zero::raster
