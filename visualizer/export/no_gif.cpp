// Where giflib was not there when this was built.
#include "visualizer/export/gif.h"

namespace zero {

struct Gif::State {};

Gif::Gif(int, int, Palette) {
  throw std::runtime_error(
      "built without giflib, so no GIF; a name that ends in .mp4 or .png does");
}
Gif::~Gif() = default;
void Gif::add(const Image&, int) {}
std::string Gif::finish() { return {}; }

}  // namespace zero
