// The font atlas as a texture of coverage, sampled bilinearly.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace zero::raster {

// Texture coordinates are in 1/256 of a texel, from the centre of texel 0.
constexpr int kTexel = 256;

class Texture {
 public:
  // The atlas has been built, as 8-bit alpha, and outlives this.
  explicit Texture(const ImFontAtlas& atlas)
      : alpha_(atlas.TexPixelsAlpha8), width_(atlas.TexWidth), height_(atlas.TexHeight) {}

  bool empty() const { return alpha_ == nullptr || width_ < 1 || height_ < 1; }
  // Of ImGui's coordinates, which go from 0 to 1. They may lie anywhere, or be no numbers.
  std::int32_t u_of(float uv) const { return fixed(uv, width_); }
  std::int32_t v_of(float uv) const { return fixed(uv, height_); }

  // The texels that are mixed at one v, and how.
  class Row {
   public:
    std::uint32_t sample(std::int32_t u) const {  // 0 to 255
      u = std::clamp(u, 0, last_ * kTexel);
      const int x = u / kTexel, right = std::min(x + 1, last_);
      const auto part = static_cast<std::uint32_t>(u % kTexel);
      const std::uint32_t top = top_[x] * (kTexel - part) + top_[right] * part;
      const std::uint32_t bottom = bottom_[x] * (kTexel - part) + bottom_[right] * part;
      constexpr std::uint32_t kAll = kTexel * kTexel;
      return (top * (kTexel - part_) + bottom * part_ + kAll / 2) / kAll;
    }

   private:
    friend class Texture;
    const unsigned char* top_ = nullptr;
    const unsigned char* bottom_ = nullptr;
    std::uint32_t part_ = 0;  // of the bottom, in 1/256
    int last_ = 0;
  };
  Row row(std::int32_t v) const {
    v = std::clamp(v, 0, (height_ - 1) * kTexel);
    const int y = v / kTexel;
    Row row;
    row.top_ = alpha_ + y * width_;
    row.bottom_ = alpha_ + std::min(y + 1, height_ - 1) * width_;
    row.part_ = static_cast<std::uint32_t>(v % kTexel);
    row.last_ = width_ - 1;
    return row;
  }
  std::uint32_t sample(std::int32_t u, std::int32_t v) const { return row(v).sample(u); }

 private:
  static std::int32_t fixed(float uv, int size) {
    const double at = static_cast<double>(uv) * size * kTexel - kTexel / 2.0;
    if (!(at > -kTexel)) return -kTexel;
    return static_cast<std::int32_t>(std::floor(std::min(at, 1.0 * size * kTexel) + 0.5));
  }

  const unsigned char* alpha_;
  int width_, height_;
};

}  // namespace zero::raster
