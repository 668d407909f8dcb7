// Films as MP4, by the program ffmpeg.
#pragma once

#include <sys/types.h>

#include <string>

#include "visualizer/export/interrupts.h"
#include "visualizer/raster/image.h"

namespace zero {

// Throws std::runtime_error, with one line, when there is no ffmpeg, or when it fails; and looks at
// `interrupts` whenever it waits.
class Mp4 {
 public:
  // Writes to `path`, whatever that ends in. Odd sizes lose their last row or column.
  Mp4(const std::string& path, int width, int height, int frames_per_second,
      const Interrupts& interrupts);
  ~Mp4();  // without finish(): ends ffmpeg; the file may be there in part
  Mp4(const Mp4&) = delete;
  Mp4& operator=(const Mp4&) = delete;

  void add(const Image& frame);
  void finish();

 private:
  [[noreturn]] void fail();
  int wait_for_it();

  const Interrupts& interrupts_;

  pid_t ffmpeg_ = -1;
  int frames_ = -1, words_ = -1;  // sockets: what ffmpeg reads, and its messages
};

}  // namespace zero
