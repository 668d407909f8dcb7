// Pictures as PNG.
#pragma once

#include <string>

#include "visualizer/raster/image.h"

namespace zero {

// The file's bytes. Every pixel is opaque, so no alpha is stored.
std::string png_of(const Image& image);

}  // namespace zero
