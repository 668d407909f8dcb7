#include "visualizer/raster/rasteriser.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "visualizer/raster/blend.h"
#include "visualizer/raster/texture.h"
#include "visualizer/raster/triangle.h"

namespace zero {

using namespace raster;

Image Image::of_size(int width, int height) {
  Image image;
  image.width = width;
  image.height = height;
  image.rgba.assign(4 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 0);
  for (std::size_t i = 3; i < image.rgba.size(); i += 4) image.rgba[i] = 255;
  return image;
}

namespace {

struct Box {  // of pixels
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

class Painter {
 public:
  Painter(const Texture& texture, Image& into) : texture_(texture), into_(into) {}

  void set_clip(Box clip) {
    clip_ = {std::max(clip.x0, 0), std::max(clip.y0, 0), std::min(clip.x1, into_.width),
             std::min(clip.y1, into_.height)};
  }

  void triangle(Corner a, Corner b, Corner c) {
    const std::int64_t area =
        std::int64_t{b.x - a.x} * (c.y - a.y) - std::int64_t{b.y - a.y} * (c.x - a.x);
    if (area == 0) return;
    if (area < 0) std::swap(b, c);
    const std::int64_t size = area < 0 ? -area : area;
    const auto [left, right] = std::minmax({a.x, b.x, c.x});
    const auto [top, bottom] = std::minmax({a.y, b.y, c.y});
    const int from = std::max(clip_.y0, first_pixel_at(top));
    const int to = std::min(clip_.y1, first_pixel_at(bottom) + 1);
    const int x_from = std::max(clip_.x0, first_pixel_at(left));
    const int x_to = std::min(clip_.x1, first_pixel_at(right) + 1);
    if (x_from >= x_to) return;
    // Each edge's value is the weight of the corner opposite to it.
    const Edge edges[3] = {{b, c}, {c, a}, {a, b}};
    const Corner* corners[3] = {&a, &b, &c};
    const bool one_colour = a.colour == b.colour && b.colour == c.colour;
    const bool one_texel = a.u == b.u && b.u == c.u && a.v == b.v && b.v == c.v;
    const std::uint32_t coverage = one_texel ? texture_.sample(a.u, a.v) : 0;
    for (int y = from; y < to; ++y) {
      int x0 = x_from, x1 = x_to;
      for (const Edge& edge : edges) narrow(edge, y, x0, x1);
      if (x0 >= x1) continue;
      if (one_colour && one_texel) {
        solid(x0, x1, y, pixel_of(a.colour), coverage);
        continue;
      }
      const auto linear = [&](auto&& value, std::int64_t rounding) {
        std::int64_t n = rounding, step = 0;
        for (int i = 0; i < 3; ++i) {
          n += edges[i].at(x0, y) * value(*corners[i]);
          step += edges[i].dx * value(*corners[i]);
        }
        return Linear(n, step, size);
      };
      Linear colour[4];
      for (int channel = 0; channel < 4; ++channel) {
        const int shift = 8 * channel;
        if (!one_colour || channel == 3) {
          colour[channel] = linear(
              [&](const Corner& k) { return std::int64_t{k.colour >> shift & 255}; }, size / 2);
        } else {
          colour[channel] = Linear(a.colour >> shift & 255, 0, 1);
        }
      }
      Linear u = linear([](const Corner& k) { return std::int64_t{k.u}; }, 0);
      Linear v = linear([](const Corner& k) { return std::int64_t{k.v}; }, 0);
      std::uint8_t* at = into_.at(x0, y);
      for (int x = x0; x < x1; ++x, at += 4) {
        const std::uint32_t here = one_texel ? coverage : texture_.sample(u.value(), v.value());
        const Pixel source{static_cast<std::uint8_t>(colour[0].value()),
                           static_cast<std::uint8_t>(colour[1].value()),
                           static_cast<std::uint8_t>(colour[2].value()), 0};
        blend(at, source, by_255(static_cast<std::uint32_t>(colour[3].value()) * here));
        for (Linear& channel : colour) channel.next();
        u.next();
        v.next();
      }
    }
  }

 private:
  void solid(int x0, int x1, int y, Pixel colour, std::uint32_t coverage) {
    const std::uint32_t alpha = by_255(colour.a * coverage);
    std::uint8_t* at = into_.at(x0, y);
    if (alpha == 255) {
      colour.a = 255;
      for (int x = x0; x < x1; ++x, at += 4) std::memcpy(at, &colour, 4);
    } else if (alpha > 0) {
      for (int x = x0; x < x1; ++x, at += 4) blend(at, colour, alpha);
    }
  }

  const Texture& texture_;
  Image& into_;
  Box clip_;
};

// The nearest 1/16 of a pixel; false when it is too far away.
bool to_subpixels(float at, float origin, float scale, std::int32_t& out) {
  const double pixels = (static_cast<double>(at) - static_cast<double>(origin)) * scale;
  if (!(pixels >= -kFurthest && pixels <= kFurthest)) return false;
  out = static_cast<std::int32_t>(std::floor(pixels * kSubpixel + 0.5));
  return true;
}

// The first pixel whose centre is not before `at`.
int clip_pixel(float at, float origin, float scale) {
  const double pixels = (static_cast<double>(at) - static_cast<double>(origin)) * scale;
  if (!(pixels > -kFurthest)) return -kFurthest;
  return static_cast<int>(std::ceil(std::min<double>(pixels, kFurthest) - 0.5));
}

}  // namespace

void draw(const ImDrawData& data, const ImFontAtlas& atlas, Image& into) {
  const Texture texture(atlas);
  if (texture.empty()) return;
  Painter painter(texture, into);
  const ImVec2 origin = data.DisplayPos, scale = data.FramebufferScale;
  for (int l = 0; l < data.CmdListsCount; ++l) {
    const ImDrawList& list = *data.CmdLists[l];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      if (command.UserCallback != nullptr) continue;
      painter.set_clip({clip_pixel(command.ClipRect.x, origin.x, scale.x),
                        clip_pixel(command.ClipRect.y, origin.y, scale.y),
                        clip_pixel(command.ClipRect.z, origin.x, scale.x),
                        clip_pixel(command.ClipRect.w, origin.y, scale.y)});
      const ImDrawIdx* indices = list.IdxBuffer.Data + command.IdxOffset;
      const ImDrawVert* vertices = list.VtxBuffer.Data + command.VtxOffset;
      for (unsigned i = 0; i + 2 < command.ElemCount; i += 3) {
        Corner corners[3];
        bool drawn = true;
        for (unsigned k = 0; k < 3; ++k) {
          const ImDrawVert& vertex = vertices[indices[i + k]];
          drawn = drawn && to_subpixels(vertex.pos.x, origin.x, scale.x, corners[k].x) &&
                  to_subpixels(vertex.pos.y, origin.y, scale.y, corners[k].y);
          corners[k].u = texture.u_of(vertex.uv.x);
          corners[k].v = texture.v_of(vertex.uv.y);
          corners[k].colour = vertex.col;
        }
        if (drawn) painter.triangle(corners[0], corners[1], corners[2]);
      }
    }
  }
}

}  // namespace zero
