// Blending of 8-bit pixels: source over destination, rounded to nearest.
#pragma once

#include <cstdint>

namespace zero::raster {

struct Pixel {
  std::uint8_t r = 0, g = 0, b = 0, a = 0;
  bool operator==(const Pixel&) const = default;
};
static_assert(sizeof(Pixel) == 4);

inline Pixel pixel_of(std::uint32_t abgr) {
  return {static_cast<std::uint8_t>(abgr), static_cast<std::uint8_t>(abgr >> 8),
          static_cast<std::uint8_t>(abgr >> 16), static_cast<std::uint8_t>(abgr >> 24)};
}

// x / 255 to the nearest, for 0 <= x <= 255 * 255.
inline std::uint32_t by_255(std::uint32_t x) { return (x + 128 + ((x + 128) >> 8)) >> 8; }

inline std::uint8_t mix(std::uint8_t from, std::uint8_t to, std::uint32_t part) {
  return static_cast<std::uint8_t>(by_255(to * part + from * (255 - part)));
}

// What is drawn upon is opaque, and stays so.
inline void blend(std::uint8_t* at, Pixel source, std::uint32_t alpha) {
  at[0] = mix(at[0], source.r, alpha);
  at[1] = mix(at[1], source.g, alpha);
  at[2] = mix(at[2], source.b, alpha);
  at[3] = 255;
}

}  // namespace zero::raster
