// A picture in memory.
#pragma once

#include <cstdint>
#include <vector>

namespace zero {

// Rows from the top, each of `width` pixels, each of 4 bytes: red, green, blue, alpha.
struct Image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgba;

  const std::uint8_t* at(int x, int y) const {
    return rgba.data() + 4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                              static_cast<std::size_t>(x));
  }
};

}  // namespace zero
