// Writes PNG files.
#pragma once

#include <string>

#include "visualizer/raster/image.h"

namespace zero {

// Throws std::runtime_error ("PATH: why"); then no such file is left.
void write_png(const Image& image, const std::string& path);

}  // namespace zero
