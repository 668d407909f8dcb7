// Fills triangles and rectangles of a picture: what the rasteriser's rules mean for one of them.
#pragma once

#include <cstdint>
#include <vector>

#include "visualizer/raster/image.h"
#include "visualizer/raster/texture.h"
#include "visualizer/raster/triangle.h"

namespace zero::raster {

struct Pixel;

struct Box {  // of pixels
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

// Owns neither the texture, which is not empty, nor the picture.
class Painter {
 public:
  Painter(const Texture& texture, Image& into);

  void set_clip(Box clip);

  void triangle(const Corner& a, const Corner& b, const Corner& c);

  // The pixels that the triangles (a, b, c) and (a, c, d) of a rectangle would get, sooner. `a` and
  // `c` are its opposite corners, of one colour; u depends on x alone, and v on y.
  void rectangle(const Corner& a, const Corner& c);

 private:
  void solid(int x0, int x1, int y, std::uint32_t colour, std::uint32_t coverage);
  void solid(const Box& box, std::uint32_t colour, std::uint32_t coverage);

  const Texture& texture_;
  Image& into_;
  Box clip_;
  std::vector<std::int32_t> columns_;  // of rectangle(): each one's u
};

}  // namespace zero::raster
