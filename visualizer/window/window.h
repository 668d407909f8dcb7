// The window: the same pictures as the exports, live, with pointer and keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "visualizer/replay/order.h"
#include "visualizer/view/session.h"

namespace zero {

struct WindowOptions {
  std::vector<std::string> directories;  // of the runs; at least one
  replay::Order order = replay::Order::logical;
  bool follow = false;  // the runs may still be running, or not have begun
  bool dark = false;
  view::View view = view::View::stages;
  std::optional<int> rank;         // none: the first that there is
  int width = 1280, height = 720;  // the design's pixels
};

// Shows the runs until the viewer closes the window. Returns the exit status of the program: 1, and
// a line on stderr, where there is no display, or no run could be opened.
int show_window(const WindowOptions& options);

}  // namespace zero
