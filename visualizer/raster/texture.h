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
  explicit Texture(const ImFontAtlas& atlas)
      : alpha_(atlas.TexPixelsAlpha8),
        rgba_(atlas.TexPixelsRGBA32),
        width_(atlas.TexWidth),
        height_(atlas.TexHeight) {}

  bool empty() const {
    return (alpha_ == nullptr && rgba_ == nullptr) || width_ < 1 || height_ < 1;
  }
  // Of ImGui's coordinates, which go from 0 to 1. They may lie anywhere, or be no numbers.
  std::int32_t u_of(float uv) const { return fixed(uv, width_); }
  std::int32_t v_of(float uv) const { return fixed(uv, height_); }

  std::uint32_t texel(int x, int y) const {
    const int at = y * width_ + x;
    return alpha_ != nullptr ? alpha_[at] : rgba_[at] >> 24;
  }
  // 0 to 255.
  std::uint32_t sample(std::int32_t u, std::int32_t v) const {
    u = std::clamp(u, 0, (width_ - 1) * kTexel);
    v = std::clamp(v, 0, (height_ - 1) * kTexel);
    const int x = u / kTexel, y = v / kTexel;
    const auto fx = static_cast<std::uint32_t>(u % kTexel);
    const auto fy = static_cast<std::uint32_t>(v % kTexel);
    const int right = std::min(x + 1, width_ - 1), below = std::min(y + 1, height_ - 1);
    const std::uint32_t top = texel(x, y) * (kTexel - fx) + texel(right, y) * fx;
    const std::uint32_t bottom = texel(x, below) * (kTexel - fx) + texel(right, below) * fx;
    return (top * (kTexel - fy) + bottom * fy + kTexel * kTexel / 2) / (kTexel * kTexel);
  }

 private:
  static std::int32_t fixed(float uv, int size) {
    const double at = static_cast<double>(uv) * size * kTexel - kTexel / 2.0;
    if (!(at > -1e6)) return -1'000'000;
    return static_cast<std::int32_t>(std::lround(std::min(at, size * static_cast<double>(kTexel))));
  }

  const unsigned char* alpha_;
  const unsigned int* rgba_;
  int width_, height_;
};

}  // namespace zero::raster
