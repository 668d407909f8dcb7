#include "visualizer/export/png.h"

#include <png.h>

#include <cstdio>
#include <stdexcept>

namespace zero {

void write_png(const Image& image, const std::string& path) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_RGBA;
  if (png_image_write_to_file(&png, path.c_str(), 0, image.rgba.data(), 0, nullptr) == 0) {
    std::remove(path.c_str());
    throw std::runtime_error(path + ": " + png.message);
  }
}

}  // namespace zero
