// Where GLFW was not there when this was built.
#include <fmt/format.h>

#include <cstdio>

#include "visualizer/window/window.h"

namespace zero {

int show_window(const WindowOptions&) {
  fmt::print(stderr,
             "visualizer: built without GLFW, so there is no window; "
             "--export FILE.png makes a picture\n");
  return 1;
}

}  // namespace zero
