#include "visualizer/window/screen.h"

#include <GLFW/glfw3.h>
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "visualizer/view/story_input.h"
#include "visualizer/window/backends.h"

namespace zero {
namespace {

constexpr int kLeastWidth = 800, kLeastHeight = 500;

[[noreturn]] void fail(const char* what) {
  const char* why = nullptr;
  glfwGetError(&why);
  const std::string line =
      fmt::format("{}{}{}{}", what, why ? " (" : "", why ? why : "", why ? ")" : "");
  glfwTerminate();
  throw std::runtime_error(line);
}

float content_scale(GLFWwindow* window) {
  float x = 1, y = 1;
  glfwGetWindowContentScale(window, &x, &y);
  return std::clamp(std::max(x, y), 0.5f, 4.0f);
}

}  // namespace

Screen::Screen(int width, int height, const std::string& title) {
  if (!glfwInit()) fail("no display to open a window on");
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 0);
  glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);  // the size is in the design's pixels
  window_ = glfwCreateWindow(std::max(width, kLeastWidth), std::max(height, kLeastHeight),
                             title.c_str(), nullptr, nullptr);
  if (!window_) fail("no window with OpenGL 3 can be opened");
  glfwMakeContextCurrent(window_);
  glfwSwapInterval(1);

  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.LogFilename = nullptr;
  if (!ImGui_ImplGlfw_InitForOpenGL(window_, true) || !ImGui_ImplOpenGL3_Init("#version 130")) {
    fail("OpenGL 3 does not work here");
  }
}

Screen::~Screen() {
  ImGui_ImplOpenGL3_Shutdown();
  ImGui_ImplGlfw_Shutdown();
  ImGui::DestroyContext();
  glfwDestroyWindow(window_);
  glfwTerminate();
}

bool Screen::closed() const { return glfwWindowShouldClose(window_); }
void Screen::close() { glfwSetWindowShouldClose(window_, GLFW_TRUE); }
void Screen::set_title(const std::string& title) { glfwSetWindowTitle(window_, title.c_str()); }

void Screen::wait(double seconds) {
  // Nothing waits for the picture of a window that is put away.
  if (glfwGetWindowAttrib(window_, GLFW_ICONIFIED)) seconds = std::max(seconds, 0.1);
  if (seconds > 0) glfwWaitEventsTimeout(seconds);
  else glfwPollEvents();
}

void Screen::load_fonts() {
  if (scale_ > 0) ImGui_ImplOpenGL3_DestroyFontsTexture();
  scale_ = content_scale(window_);
  ImGui::GetIO().Fonts->Clear();
  fonts_ = view::load_fonts(scale_);
  ImGui_ImplOpenGL3_CreateFontsTexture();
  // The window's own coordinates may be either pixels, as under X11, or the design's, as on a Mac.
  int pixels = 1, width = 1, height = 0;
  glfwGetFramebufferSize(window_, &pixels, &height);
  glfwGetWindowSize(window_, &width, &height);
  const float unit =
      scale_ * static_cast<float>(std::max(width, 1)) / static_cast<float>(std::max(pixels, 1));
  glfwSetWindowSizeLimits(window_, static_cast<int>(kLeastWidth * unit),
                          static_cast<int>(kLeastHeight * unit), GLFW_DONT_CARE, GLFW_DONT_CARE);
}

view::Rect Screen::begin_frame() {
  if (content_scale(window_) != scale_) load_fonts();
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  // The backend counts in the window's coordinates, the views in the design's pixels.
  ImGuiIO& io = ImGui::GetIO();
  int width = 0, height = 0;
  glfwGetFramebufferSize(window_, &width, &height);
  const ImVec2 design = {static_cast<float>(width) / scale_, static_cast<float>(height) / scale_};
  if (io.DisplaySize.x > 0 && io.DisplaySize.y > 0) {
    mouse_scale_ = {design.x / io.DisplaySize.x, design.y / io.DisplaySize.y};
  }
  io.DisplaySize = design;
  io.DisplayFramebufferScale = {scale_, scale_};
  ImGui::NewFrame();
  return {0, 0, design.x, design.y};
}

void Screen::end_frame() {
  ImGui::Render();
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  glfwSwapBuffers(window_);
}

view::Input Screen::input(double seconds) const { return view::read_input(seconds, mouse_scale_); }

}  // namespace zero
