// Blending of 8-bit pixels: source over destination, rounded to nearest.
#pragma once

#include <cstdint>

namespace zero::raster {

struct Pixel {
  std::uint8_t r = 0, g = 0, b = 0, a = 0;
};
static_assert(sizeof(Pixel) == 4);

inline Pixel pixel_of(std::uint32_t abgr) {
  return {static_cast<std::uint8_t>(abgr), static_cast<std::uint8_t>(abgr >> 8),
          static_cast<std::uint8_t>(abgr >> 16), static_cast<std::uint8_t>(abgr >> 24)};
}

// x / 255 to the nearest, for 0 <= x <= 255 * 255; no step leaves 16 bits.
inline std::uint32_t by_255(std::uint32_t x) { return (x + 128 + ((x + 128) >> 8)) >> 8; }

inline std::uint8_t mix(std::uint8_t from, std::uint8_t to, std::uint32_t part) {
  return static_cast<std::uint8_t>(by_255(to * part + from * (255 - part)));
}

// What is drawn upon is opaque, and stays so. Alpha: 0 to 255; the source's own is not looked at.
inline void blend(std::uint8_t* at, Pixel source, std::uint32_t alpha) {
  at[0] = mix(at[0], source.r, alpha);
  at[1] = mix(at[1], source.g, alpha);
  at[2] = mix(at[2], source.b, alpha);
}

// The same for `pixels` neighbours.
inline void blend_row(std::uint8_t* at, int pixels, Pixel source, std::uint32_t alpha) {
  const auto left = static_cast<std::uint16_t>(255 - alpha);
  const std::uint16_t added[4] = {static_cast<std::uint16_t>(source.r * alpha + 128),
                                  static_cast<std::uint16_t>(source.g * alpha + 128),
                                  static_cast<std::uint16_t>(source.b * alpha + 128),
                                  static_cast<std::uint16_t>(255 * alpha + 128)};
  for (int x = 0; x < pixels; ++x) {
    for (int channel = 0; channel < 4; ++channel) {
      std::uint8_t& byte = at[4 * x + channel];
      const auto sum = static_cast<std::uint16_t>(added[channel] + byte * left);
      byte = static_cast<std::uint8_t>(static_cast<std::uint16_t>(sum + (sum >> 8)) >> 8);
    }
  }
}

}  // namespace zero::raster
