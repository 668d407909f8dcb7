// At most 255 colours for a film, of those that its frames have.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "visualizer/raster/image.h"

namespace zero {

// 0xRRGGBB
using Rgb = std::uint32_t;

inline Rgb rgb_of(const std::uint8_t* pixel) {
  return static_cast<Rgb>(pixel[0] << 16 | pixel[1] << 8 | pixel[2]);
}

// How often each colour occurs.
class Histogram {
 public:
  // Counts the rows that are not the same as in `before`.
  void add(const Image& image, const Image& before);
  const std::unordered_map<Rgb, std::int64_t>& counts() const { return counts_; }

 private:
  std::unordered_map<Rgb, std::int64_t> counts_;
};

// The colours that cover most are kept as they are: they are the theme's. The rest, soft edges
// mostly, share what is left, by median cut. The same histogram gives the same palette.
class Palette {
 public:
  static constexpr std::size_t kMost = 255;

  explicit Palette(const Histogram& histogram);

  const std::vector<Rgb>& colours() const { return colours_; }  // 1 to kMost
  std::uint8_t nearest(Rgb colour);

 private:
  std::vector<Rgb> colours_;
  std::unordered_map<Rgb, std::uint8_t> known_;
};

}  // namespace zero
