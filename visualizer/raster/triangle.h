// A triangle with integer edge functions, and what varies over it.
#pragma once

#include <cstdint>
#include <utility>

namespace zero::raster {

constexpr int kSubpixel = 16;     // parts of a pixel that corners can lie at
constexpr int kFurthest = 32767;  // pixels

// A corner: position in 1/16 of a pixel.
struct Corner {
  std::int32_t x = 0, y = 0;
  std::int32_t u = 0, v = 0;
  std::uint32_t colour = 0;  // 0xAABBGGRR
};

// The first and the last pixel whose centre lies at or after `at`, before it.
inline int first_pixel_at(std::int32_t at) {
  // ceil((at - 8) / 16), for negative numbers too
  return (at - kSubpixel / 2 + kSubpixel - 1) >> 4;
}

// One edge: value(x, y) is 0 or more inside, where x and y are pixels (of which the centre counts).
struct Edge {
  std::int64_t at_origin = 0, dx = 0, dy = 0;

  // Of a triangle whose corners go round clockwise on the screen.
  Edge(const Corner& from, const Corner& to) {
    const std::int64_t run = to.x - from.x, rise = to.y - from.y;
    dx = -rise * kSubpixel;
    dy = run * kSubpixel;
    const bool top_left = rise < 0 || (rise == 0 && run > 0);
    at_origin = run * (kSubpixel / 2 - from.y) - rise * (kSubpixel / 2 - from.x);
    bias = top_left ? 0 : 1;
  }
  std::int64_t at(int x, int y) const { return at_origin + dx * x + dy * y; }
  std::int64_t bias = 0;  // a pixel is inside from this value on
};

inline std::int64_t floor_div(std::int64_t n, std::int64_t d) {  // d > 0
  const std::int64_t q = n / d;
  return n % d < 0 ? q - 1 : q;
}

// Narrows the pixels [x0, x1) of a row to those inside an edge.
inline void narrow(const Edge& edge, int y, int& x0, int& x1) {
  const std::int64_t need = edge.bias - edge.at(0, y);  // dx * x >= need
  if (edge.dx > 0) {
    const std::int64_t first = -floor_div(-need, edge.dx);
    if (first > x0) x0 = static_cast<int>(first < x1 ? first : x1);
  } else if (edge.dx < 0) {
    const std::int64_t end = floor_div(-need, -edge.dx) + 1;
    if (end < x1) x1 = static_cast<int>(end > x0 ? end : x0);
  } else if (need > 0) {
    x1 = x0;
  }
}

// Something that is linear over a row of pixels, exactly: floor(n / d) with n growing by `step`.
class Linear {
 public:
  Linear() = default;
  Linear(std::int64_t n, std::int64_t step, std::int64_t d)
      : d_(d), q_(floor_div(n, d)), r_(n - q_ * d), dq_(floor_div(step, d)), dr_(step - dq_ * d) {}
  std::int32_t value() const { return static_cast<std::int32_t>(q_); }
  void next() {
    q_ += dq_;
    r_ += dr_;
    if (r_ >= d_) {
      r_ -= d_;
      ++q_;
    }
  }

 private:
  std::int64_t d_ = 1, q_ = 0, r_ = 0, dq_ = 0, dr_ = 0;
};

}  // namespace zero::raster
