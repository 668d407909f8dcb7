// Pictures that were looked at once, kept as files, and compared with by the means of their blocks.
#include "tests/support/golden_pictures.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "tests/support/files.h"
#include "tests/support/stage.h"
#include "visualizer/export/png.h"

namespace zero {
namespace {

constexpr int kBlock = 8;

// The mean colour of the block whose corner is at x, y.
std::array<double, 3> mean_of(const Image& image, int x, int y) {
  const int x1 = std::min(x + kBlock, image.width), y1 = std::min(y + kBlock, image.height);
  std::array<double, 3> sum{};
  for (int j = y; j < y1; ++j) {
    for (int i = x; i < x1; ++i) {
      for (std::size_t c = 0; c < 3; ++c) sum[c] += image.at(i, j)[c];
    }
  }
  for (double& s : sum) s /= (x1 - x) * (y1 - y);
  return sum;
}

double block_difference(const Image& a, const Image& b, int x, int y) {
  const auto mean_a = mean_of(a, x, y), mean_b = mean_of(b, x, y);
  double most = 0;
  for (std::size_t c = 0; c < 3; ++c) most = std::max(most, std::abs(mean_a[c] - mean_b[c]));
  return most;
}

}  // namespace

Difference difference_of(const Image& a, const Image& b) {
  Difference d;
  int blocks = 0;
  for (int y = 0; y < a.height; y += kBlock) {
    for (int x = 0; x < a.width; x += kBlock) {
      const double here = block_difference(a, b, x, y);
      d.mean += here;
      ++blocks;
      if (here <= d.worst) continue;
      d.worst = here;
      d.worst_x = x;
      d.worst_y = y;
    }
  }
  d.mean /= std::max(blocks, 1);
  return d;
}

Image read_png(const std::string& path) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&png, path.c_str()) == 0)
    throw std::runtime_error(fmt::format("{}: {}", path, png.message));
  png.format = PNG_FORMAT_RGBA;
  Image image = Image::of_size(static_cast<int>(png.width), static_cast<int>(png.height));
  if (png_image_finish_read(&png, nullptr, image.rgba.data(), 0, nullptr) == 0)
    throw std::runtime_error(fmt::format("{}: {}", path, png.message));
  return image;
}

Image golden_picture(const std::string& name, const Image& actual) {
  const std::string path = source_path("tests/golden_pictures/" + name + ".png");
  const char* update = std::getenv("ZERO_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") write_whole_file(path, png_of(actual));
  return read_png(path);
}

std::string keep_difference(const std::string& name, const Image& actual, const Image& golden) {
  // The kept picture, pale, and the blocks that differ in red, the more the stronger.
  Image shown = golden;
  for (int y = 0; y < shown.height; ++y) {
    for (int x = 0; x < shown.width; ++x) {
      const double apart =
          block_difference(actual, golden, x / kBlock * kBlock, y / kBlock * kBlock);
      std::uint8_t* pixel = shown.at(x, y);
      for (int c = 0; c < 3; ++c) pixel[c] = static_cast<std::uint8_t>(191 + pixel[c] / 4);
      const double part = std::min(1.0, apart / 64);
      for (int c = 1; c < 3; ++c) pixel[c] = static_cast<std::uint8_t>(pixel[c] * (1 - part));
    }
  }
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string base = (folder / name).string();
  write_whole_file(base + ".actual.png", png_of(actual));
  write_whole_file(base + ".difference.png", png_of(shown));
  return fmt::format(
      "see {0}.actual.png and {0}.difference.png; ZERO_UPDATE_GOLDEN=1 keeps it as it is now",
      base);
}

}  // namespace zero
