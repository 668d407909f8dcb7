// Pictures and films of a session, into files.
#pragma once

#include <string>

#include "visualizer/view/frame.h"

namespace zero {

struct ExportOptions {
  std::string path;                // ends in .png, .gif or .mp4
  std::string at, from, to;        // moments; empty: not given
  int width = 1280, height = 720;  // pixels of the file
  float scale = 1;                 // how large the design is drawn
  bool dark = false;
  view::Content content = view::Content::picture;
  int frames_per_second = 0;  // 0: 20 for a GIF, 30 for an MP4
  double speed = 1;
};

// A film goes from one moment to another at the window's pace; with `at` alone, through what it
// names. Throws NoSuchMoment, std::runtime_error with one line, or Interrupted (interrupts.h); then
// no file is left.
void export_session(view::Session& session, const ExportOptions& options);

}  // namespace zero
