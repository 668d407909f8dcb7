// Pictures that were looked at once, kept as files, and compared with by the means of their blocks.
#pragma once

#include <string>

#include "visualizer/raster/image.h"

namespace zero {

// How far two pictures of one size are apart. A block has 8x8 pixels; its difference is that of its
// mean colours, in the channel where it is largest: 0 to 255.
struct Difference {
  double mean = 0;               // over all blocks
  double worst = 0;              // of one block
  int worst_x = 0, worst_y = 0;  // the pixel at its corner
};
// Requires that both have the same size.
Difference difference_of(const Image& a, const Image& b);

// What is allowed. One word drawn by another version of the font changes its blocks by some levels,
// and few blocks have words; a cell's colour, or a message more or less, changes whole blocks by 50
// and more.
struct Tolerance {
  double mean = 0, worst = 0;
  bool allows(const Difference& d) const { return d.mean <= mean && d.worst <= worst; }
};
inline constexpr Tolerance kTolerance{0.5, 24};

// std::runtime_error when it cannot be read.
Image read_png(const std::string& path);

// The kept picture NAME. With ZERO_UPDATE_GOLDEN=1 in the environment it is written anew first.
Image golden_picture(const std::string& name, const Image& actual);

// Writes NAME.actual.png and NAME.difference.png beside this program; a sentence that names them.
std::string keep_difference(const std::string& name, const Image& actual, const Image& golden);

}  // namespace zero
