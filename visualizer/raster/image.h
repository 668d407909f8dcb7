// A picture in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero {

// Rows from the top, each of `width` pixels, each of 4 bytes: red, green, blue, alpha.
struct Image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgba;

  // Opaque black.
  static Image of_size(int width, int height);

  const std::uint8_t* at(int x, int y) const { return rgba.data() + offset(x, y); }
  std::uint8_t* at(int x, int y) { return rgba.data() + offset(x, y); }
  bool operator==(const Image&) const = default;

 private:
  std::size_t offset(int x, int y) const {
    return 4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                static_cast<std::size_t>(x));
  }
};

}  // namespace zero
