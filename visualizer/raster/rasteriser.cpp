#include "visualizer/raster/rasteriser.h"

#include <cmath>

#include "visualizer/raster/painter.h"

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

// One axis of ImGui's coordinates, in pixels of the picture.
struct Axis {
  float origin = 0, scale = 1;

  double pixels(float at) const {
    return (static_cast<double>(at) - static_cast<double>(origin)) * static_cast<double>(scale);
  }
  // The nearest 1/16 of a pixel.
  static std::int32_t subpixels(double pixels) {
    return static_cast<std::int32_t>(std::floor(pixels * kSubpixel + 0.5));
  }
  // The first pixel whose centre is not before `at`; whatever is no number is at the far left.
  int first_pixel(float at) const {
    const double p = pixels(at);
    return p > -kFurthest ? first_pixel_at(subpixels(std::min<double>(p, kFurthest))) : -kFurthest;
  }
};

bool near(double pixels) { return pixels >= -kFurthest && pixels <= kFurthest; }

class Drawing {
 public:
  Drawing(const ImDrawData& data, const Texture& texture, Image& into)
      : x_{data.DisplayPos.x, data.FramebufferScale.x},
        y_{data.DisplayPos.y, data.FramebufferScale.y},
        texture_(texture),
        painter_(texture, into) {}

  void draw(const ImDrawList& list, const ImDrawCmd& command) {
    const ImVec4& clip = command.ClipRect;
    painter_.set_clip({x_.first_pixel(clip.x), y_.first_pixel(clip.y), x_.first_pixel(clip.z),
                       y_.first_pixel(clip.w)});
    const ImDrawIdx* index = list.IdxBuffer.Data + command.IdxOffset;
    const ImDrawVert* vertex = list.VtxBuffer.Data + command.VtxOffset;
    for (unsigned left = command.ElemCount; left >= 3;) {
      unsigned used = 3;
      // How ImGui writes a rectangle a b c d: as (a, b, c) and (a, c, d).
      if (left >= 6 && index[3] == index[0] && index[4] == index[2] &&
          rectangle(vertex[index[0]], vertex[index[1]], vertex[index[2]], vertex[index[5]])) {
        used = 6;
      } else {
        triangle(vertex[index[0]], vertex[index[1]], vertex[index[2]]);
      }
      index += used;
      left -= used;
    }
  }

 private:
  Corner corner(const ImDrawVert& v, double x, double y) const {
    return {Axis::subpixels(x), Axis::subpixels(y), texture_.u_of(v.uv.x), texture_.v_of(v.uv.y),
            v.col};
  }

  void triangle(const ImDrawVert& a, const ImDrawVert& b, const ImDrawVert& c) {
    Corner corners[3];
    const ImDrawVert* vertices[3] = {&a, &b, &c};
    for (int i = 0; i < 3; ++i) {
      const double x = x_.pixels(vertices[i]->pos.x), y = y_.pixels(vertices[i]->pos.y);
      if (!near(x) || !near(y)) return;
      corners[i] = corner(*vertices[i], x, y);
    }
    painter_.triangle(corners[0], corners[1], corners[2]);
  }

  // False: it is none.
  bool rectangle(const ImDrawVert& a, const ImDrawVert& b, const ImDrawVert& c,
                 const ImDrawVert& d) {
    const auto aligned = [](const ImVec2& p, const ImVec2& q, const ImVec2& r, const ImVec2& s) {
      return p.y == q.y && q.x == r.x && r.y == s.y && s.x == p.x;
    };
    if (!aligned(a.pos, b.pos, c.pos, d.pos) || a.col != b.col || a.col != c.col ||
        a.col != d.col || !aligned(a.uv, b.uv, c.uv, d.uv)) {
      return false;
    }
    double x0 = x_.pixels(a.pos.x), y0 = y_.pixels(a.pos.y);
    double x1 = x_.pixels(c.pos.x), y1 = y_.pixels(c.pos.y);
    if (!near(x0) || !near(y0) || !near(x1) || !near(y1)) {
      const bool one_texel = a.uv.x == c.uv.x && a.uv.y == c.uv.y;
      if (!one_texel || std::isnan(x0 + x1) || std::isnan(y0 + y1)) return true;  // left out
      for (double* at : {&x0, &y0, &x1, &y1}) *at = std::clamp<double>(*at, -kFurthest, kFurthest);
    }
    painter_.rectangle(corner(a, x0, y0), corner(c, x1, y1));
    return true;
  }

  Axis x_, y_;
  const Texture& texture_;
  Painter painter_;
};

}  // namespace

void draw(const ImDrawData& data, const ImFontAtlas& atlas, Image& into) {
  const Texture texture(atlas);
  if (texture.empty()) return;
  Drawing drawing(data, texture, into);
  for (int l = 0; l < data.CmdListsCount; ++l) {
    const ImDrawList& list = *data.CmdLists[l];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      if (command.UserCallback == nullptr) drawing.draw(list, command);
    }
  }
}

}  // namespace zero
