// Films as GIF: one palette, and of each frame only what has changed.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "visualizer/export/palette.h"

namespace zero {

class Gif {
 public:
  // Begins a film that is shown again and again. Throws std::runtime_error where this was built
  // without giflib, with one line that says so.
  Gif(int width, int height, Palette palette);
  ~Gif();
  Gif(const Gif&) = delete;
  Gif& operator=(const Gif&) = delete;

  // Shown for so many hundredths of a second.
  void add(const Image& frame, int hundredths);
  // Ends the film: the file's bytes.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zero
