// Where GLFW was not there when this was built.
#include "visualizer/replay/say.h"
#include "visualizer/window/window.h"

namespace zero {

int show_window(const WindowOptions&) {
  say("visualizer: built without GLFW, so there is no window; "
      "--export FILE.png makes a picture\n");
  return 1;
}

}  // namespace zero
