// GIF films: what an independent decoder reads is what was put in.
#include <stb_image.h>

#include <random>

#include "catch.h"
#include "visualizer/export/gif.h"

using namespace zero;

namespace {

struct Decoded {
  int width = 0, height = 0;
  std::vector<Image> frames;
  std::vector<int> milliseconds;
};

Decoded decode(const std::string& bytes) {
  Decoded decoded;
  int* delays = nullptr;
  int frames = 0, channels = 0;
  stbi_uc* pixels = stbi_load_gif_from_memory(
      reinterpret_cast<const stbi_uc*>(bytes.data()), static_cast<int>(bytes.size()), &delays,
      &decoded.width, &decoded.height, &frames, &channels, 4);
  REQUIRE(pixels != nullptr);
  for (int i = 0; i < frames; ++i) {
    Image image = Image::of_size(decoded.width, decoded.height);
    std::copy_n(pixels + static_cast<std::size_t>(i) * image.rgba.size(), image.rgba.size(),
                image.rgba.begin());
    decoded.frames.push_back(std::move(image));
    decoded.milliseconds.push_back(delays[i]);
  }
  stbi_image_free(pixels);
  stbi_image_free(delays);
  return decoded;
}

void fill(Image& image, int x0, int y0, int x1, int y1, Rgb colour) {
  for (int y = y0; y < y1; ++y) {
    for (int x = x0; x < x1; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.at(x, y)[c] = static_cast<std::uint8_t>(colour >> (16 - 8 * c));
      }
    }
  }
}

Palette palette_of(const std::vector<Image>& images) {
  Histogram histogram;
  for (const Image& image : images) histogram.add(image, {});
  return Palette(histogram);
}

}  // namespace

TEST_CASE("a film's frames come out as they went in") {
  std::mt19937 random(7);
  std::vector<Rgb> colours(255);
  for (Rgb& colour : colours) colour = static_cast<Rgb>(random() & 0xffffff);
  std::vector<Image> images;
  Image image = Image::of_size(61, 47);
  for (int i = 0; i < 61 * 47; ++i) {
    fill(image, i % 61, i / 61, i % 61 + 1, i / 61 + 1, colours[random() % colours.size()]);
  }
  images.push_back(image);
  for (int frame = 1; frame < 40; ++frame) {
    const int x = static_cast<int>(random() % 61), y = static_cast<int>(random() % 47);
    fill(image, x, y, std::min(61, x + 20), std::min(47, y + 9), colours[random() % 255]);
    fill(image, y, 3, y + 1, 4, colours[random() % 255]);
    images.push_back(image);
  }
  Gif gif(61, 47, palette_of(images));
  for (std::size_t i = 0; i < images.size(); ++i) gif.add(images[i], 3 + static_cast<int>(i % 5));
  const Decoded decoded = decode(gif.finish());
  REQUIRE(decoded.frames.size() == images.size());
  for (std::size_t i = 0; i < images.size(); ++i) {
    CAPTURE(i);
    REQUIRE(decoded.frames[i] == images[i]);
    REQUIRE(decoded.milliseconds[i] == 10 * (3 + static_cast<int>(i % 5)));
  }
}

TEST_CASE("a frame that changes nothing lengthens the one before") {
  Image image = Image::of_size(20, 20);
  fill(image, 3, 3, 9, 9, 0x336699);
  Image other = image;
  fill(other, 19, 19, 20, 20, 0xffffff);
  Gif gif(20, 20, palette_of({image, other}));
  gif.add(image, 5);
  gif.add(image, 4);
  gif.add(other, 5);
  gif.add(other, 90);
  const Decoded decoded = decode(gif.finish());
  REQUIRE(decoded.frames.size() == 2);
  CHECK(decoded.milliseconds == std::vector<int>{90, 950});
  CHECK(decoded.frames[0] == image);
  CHECK(decoded.frames[1] == other);
}

TEST_CASE("of a frame only what has changed is stored") {
  std::mt19937 random(8);
  Image image = Image::of_size(300, 200);
  for (int i = 0; i < 60000; ++i) {
    fill(image, i % 300, i / 300, i % 300 + 1, i / 300 + 1,
         static_cast<Rgb>(random() % 200 * 0x10101));
  }
  std::vector<Image> images = {image};
  for (int x = 0; x < 50; ++x) {
    fill(image, 5 * x, 100, 5 * x + 5, 105, 0xff0000);
    images.push_back(image);
  }
  const auto size_of = [&](std::size_t frames) {
    Gif gif(300, 200, palette_of(images));
    for (std::size_t i = 0; i < frames; ++i) gif.add(images[i], 5);
    return gif.finish().size();
  };
  // 25 pixels of one colour, with their descriptions.
  CHECK(size_of(51) - size_of(1) < 50 * 50);
  CHECK(size_of(1) > 40'000);
}

TEST_CASE("a film is shown again and again") {
  Image image = Image::of_size(2, 2);
  Gif gif(2, 2, palette_of({image}));
  gif.add(image, 10);
  const std::string bytes = gif.finish();
  CHECK(bytes.substr(0, 6) == "GIF89a");
  CHECK(bytes.find(std::string("NETSCAPE2.0\x03\x01\x00\x00\x00", 16)) != std::string::npos);
  CHECK(bytes.back() == ';');
}

TEST_CASE("255 colours are kept as they are") {
  Image image = Image::of_size(255, 2);
  for (int i = 0; i < 255; ++i) fill(image, i, 0, i + 1, 2, static_cast<Rgb>(i * 65793 ^ 0x5a00));
  Palette palette = palette_of({image});
  REQUIRE(palette.colours().size() == 255);
  for (int i = 0; i < 255; ++i) {
    const Rgb colour = rgb_of(image.at(i, 0));
    CHECK(palette.colours()[palette.nearest(colour)] == colour);
  }
}

TEST_CASE("of too many colours those that cover most stay, and the rest come near") {
  Image image = Image::of_size(256, 256);
  for (int i = 0; i < 65536; ++i) {
    // Soft edges between two colours, of 4,096 shades, ...
    const int r = i / 16 % 64, g = i / 1024;
    fill(image, i % 256, i / 256, i % 256 + 1, i / 256 + 1,
         static_cast<Rgb>((r * 4) << 16 | (g * 4) << 8 | (r + g) * 2));
  }
  // ... and flat areas.
  const std::vector<Rgb> flat = {0xfedcba, 0x123456, 0xff00ff, 0xffffff};
  for (int i = 0; i < 4; ++i)
    fill(image, 40 * i, 200, 40 * i + 40, 240, flat[static_cast<std::size_t>(i)]);
  Palette palette = palette_of({image});
  CHECK(palette.colours().size() == 255);
  for (const Rgb colour : flat) CHECK(palette.colours()[palette.nearest(colour)] == colour);
  int furthest = 0;
  for (int i = 0; i < 65536; ++i) {
    const Rgb colour = rgb_of(image.at(i % 256, i / 256));
    const Rgb found = palette.colours()[palette.nearest(colour)];
    for (int shift = 0; shift < 24; shift += 8) {
      furthest = std::max(furthest, std::abs(static_cast<int>(colour >> shift & 255) -
                                             static_cast<int>(found >> shift & 255)));
    }
  }
  CHECK(furthest <= 48);
  CHECK(palette_of({image}).colours() == palette.colours());
}
