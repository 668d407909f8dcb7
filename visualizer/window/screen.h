// A window on the screen that can be drawn into with ImGui.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "visualizer/view/views.h"

struct GLFWwindow;

namespace zero {

// One at a time, used by the main thread.
class Screen {
 public:
  // Throws std::runtime_error, with one line, when there is no display.
  Screen(int width, int height, const std::string& title);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool closed() const;  // the viewer wants it to be
  void close();
  void set_title(const std::string& title);

  // Until something happens, and no longer than this. 0: only looks whether something has.
  void wait(double seconds);

  // What is between these two is drawn. Returns the whole area, in the design's pixels.
  view::Rect begin_frame();
  void end_frame();
  const view::Fonts& fonts() const { return fonts_; }
  // Of the frame that has begun. Requires begin_frame().
  view::Input input(double seconds) const;
  // The keys pressed since the last call, in order.
  std::vector<view::KeyPress> take_keys();

 private:
  static void on_key(GLFWwindow* window, int key, int code, int action, int modifiers);
  static void on_character(GLFWwindow* window, unsigned character);
  void load_fonts();  // at the present scale

  GLFWwindow* window_ = nullptr;
  float scale_ = 0;  // the screen's pixels in one of the design's
  view::Fonts fonts_;
  view::Point mouse_scale_{1, 1};
  std::vector<view::KeyPress> keys_;
};

}  // namespace zero
