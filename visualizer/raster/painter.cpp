#include "visualizer/raster/painter.h"

#include <cstring>

#include "visualizer/raster/blend.h"

namespace zero::raster {
namespace {

// A quantity that is linear over a triangle. `of` gives it at a corner.
class Varying {
 public:
  template <typename Of>
  Varying(const Corner* const* corners, const Edge* edges, std::int64_t area, Of of) : area_(area) {
    for (int i = 0; i < 3; ++i) {
      const std::int64_t value = of(*corners[i]);
      at_origin_ += edges[i].at_origin * value;
      dx_ += edges[i].dx * value;
      dy_ += edges[i].dy * value;
    }
    slope_ = Slope(dx_, area);
  }
  // floor(quantity + rounding / area) along a row, from pixel x on.
  Linear along(int x, int y, std::int64_t rounding) const {
    return Linear(at_origin_ + dx_ * x + dy_ * y + rounding, area_, slope_);
  }

 private:
  std::int64_t area_, at_origin_ = 0, dx_ = 0, dy_ = 0;
  Slope slope_;
};

int channel(const Corner& corner, int c) { return static_cast<int>(corner.colour >> 8 * c & 255); }

}  // namespace

Painter::Painter(const Texture& texture, Image& into) : texture_(texture), into_(into) {
  set_clip({0, 0, into.width, into.height});
}

void Painter::set_clip(Box clip) {
  clip_ = {std::max(clip.x0, 0), std::max(clip.y0, 0), std::min(clip.x1, into_.width),
           std::min(clip.y1, into_.height)};
}

void Painter::triangle(const Corner& first, const Corner& second, const Corner& third) {
  const Corner &a = first, *b = &second, *c = &third;
  std::int64_t area =
      std::int64_t{b->x - a.x} * (c->y - a.y) - std::int64_t{b->y - a.y} * (c->x - a.x);
  if (area == 0) return;
  if (area < 0) {
    std::swap(b, c);
    area = -area;
  }
  const auto [left, right] = std::minmax({a.x, b->x, c->x});
  const auto [top, bottom] = std::minmax({a.y, b->y, c->y});
  const int from_x = std::max(clip_.x0, first_pixel_at(left));
  const int to_x = std::min(clip_.x1, first_pixel_at(right) + 1);
  const int from_y = std::max(clip_.y0, first_pixel_at(top));
  const int to_y = std::min(clip_.y1, first_pixel_at(bottom) + 1);
  if (from_x >= to_x || from_y >= to_y) return;

  // An edge's value is the weight of the corner opposite to it; the three add up to the area.
  const Corner* const corners[3] = {&a, b, c};
  const Edge edges[3] = {{*b, *c}, {*c, a}, {a, *b}};
  const bool one_colour = a.colour == b->colour && a.colour == c->colour;
  const bool one_texel = a.u == b->u && a.u == c->u && a.v == b->v && a.v == c->v;
  const std::uint32_t coverage = one_texel ? texture_.sample(a.u, a.v) : 0;
  const auto span = [&](int y, int& x0, int& x1) {
    x0 = from_x;
    x1 = to_x;
    for (const Edge& edge : edges) narrow(edge, y, x0, x1);
    return x0 < x1;
  };
  int x0 = 0, x1 = 0;
  if (one_colour && one_texel) {
    for (int y = from_y; y < to_y; ++y) {
      if (span(y, x0, x1)) solid(x0, x1, y, a.colour, coverage);
    }
    return;
  }

  const auto varying = [&](auto of) { return Varying(corners, edges, area, of); };
  const Varying red = varying([](const Corner& k) { return channel(k, 0); });
  const Varying green = varying([](const Corner& k) { return channel(k, 1); });
  const Varying blue = varying([](const Corner& k) { return channel(k, 2); });
  const Varying alpha = varying([](const Corner& k) { return channel(k, 3); });
  const Varying u = varying([](const Corner& k) { return k.u; });
  const Varying v = varying([](const Corner& k) { return k.v; });
  // Most often a line's soft edge, or a soft line: only the alpha varies, or the texture does.
  const bool one_rgb =
      ((a.colour ^ b->colour) & 0xffffff) == 0 && ((a.colour ^ c->colour) & 0xffffff) == 0;
  for (int y = from_y; y < to_y; ++y) {
    if (!span(y, x0, x1)) continue;
    Pixel source = pixel_of(a.colour);
    std::uint32_t opacity = source.a;
    Linear r, g, b_, a_, u_, v_;
    if (!one_rgb) {
      r = red.along(x0, y, area / 2);
      g = green.along(x0, y, area / 2);
      b_ = blue.along(x0, y, area / 2);
    }
    if (!one_colour) a_ = alpha.along(x0, y, area / 2);
    if (!one_texel) {
      u_ = u.along(x0, y, 0);
      v_ = v.along(x0, y, 0);
    }
    std::uint32_t here = coverage;
    std::uint8_t* at = into_.at(x0, y);
    for (int x = x0; x < x1; ++x, at += 4) {
      if (!one_rgb) {
        source.r = static_cast<std::uint8_t>(r.next());
        source.g = static_cast<std::uint8_t>(g.next());
        source.b = static_cast<std::uint8_t>(b_.next());
      }
      if (!one_colour) opacity = static_cast<std::uint32_t>(a_.next());
      if (!one_texel) here = texture_.sample(u_.next(), v_.next());
      blend(at, source, by_255(opacity * here));
    }
  }
}

void Painter::rectangle(const Corner& a, const Corner& c) {
  const bool mirrored = a.x > c.x, upside_down = a.y > c.y;
  const Corner &west = mirrored ? c : a, &east = mirrored ? a : c;
  const Corner &north = upside_down ? c : a, &south = upside_down ? a : c;
  const Box box = {
      std::max(clip_.x0, first_pixel_at(west.x)), std::max(clip_.y0, first_pixel_at(north.y)),
      std::min(clip_.x1, first_pixel_at(east.x)), std::min(clip_.y1, first_pixel_at(south.y))};
  if (box.x0 >= box.x1 || box.y0 >= box.y1) return;
  if (a.u == c.u && a.v == c.v) {
    solid(box, a.colour, texture_.sample(a.u, a.v));
    return;
  }

  // The value at a pixel's centre, of one that goes from v0 at x0 to v1 at x1.
  const auto between = [](int pixel, std::int64_t x0, std::int64_t v0, std::int64_t x1,
                          std::int64_t v1) {
    const std::int64_t centre = std::int64_t{pixel} * kSubpixel + kSubpixel / 2;
    return Linear(v0 * (x1 - centre) + v1 * (centre - x0), x1 - x0,
                  Slope((v1 - v0) * kSubpixel, x1 - x0));
  };
  Linear u = between(box.x0, west.x, west.u, east.x, east.u);
  Linear v = between(box.y0, north.y, north.v, south.y, south.v);
  columns_.clear();
  for (int x = box.x0; x < box.x1; ++x) columns_.push_back(u.next());
  const Pixel source = pixel_of(a.colour);
  for (int y = box.y0; y < box.y1; ++y) {
    const Texture::Row row = texture_.row(v.next());
    std::uint8_t* at = into_.at(box.x0, y);
    for (const std::int32_t column : columns_) {
      const std::uint32_t here = row.sample(column);
      if (here != 0) blend(at, source, by_255(source.a * here));
      at += 4;
    }
  }
}

void Painter::solid(int x0, int x1, int y, std::uint32_t colour, std::uint32_t coverage) {
  Pixel source = pixel_of(colour);
  const std::uint32_t alpha = by_255(source.a * coverage);
  source.a = 255;
  std::uint8_t* at = into_.at(x0, y);
  if (alpha == 255) {
    for (int x = x0; x < x1; ++x, at += 4) std::memcpy(at, &source, 4);
  } else if (alpha > 0) {
    blend_row(at, x1 - x0, source, alpha);
  }
}

void Painter::solid(const Box& box, std::uint32_t colour, std::uint32_t coverage) {
  for (int y = box.y0; y < box.y1; ++y) solid(box.x0, box.x1, y, colour, coverage);
}

}  // namespace zero::raster
