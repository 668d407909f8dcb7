#include "visualizer/window/screen.h"

#include <GLFW/glfw3.h>
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

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

std::optional<view::Key> key_of(int key) {
  using view::Key;
  switch (key) {
    case GLFW_KEY_LEFT:
      return Key::left;
    case GLFW_KEY_RIGHT:
      return Key::right;
    case GLFW_KEY_UP:
      return Key::up;
    case GLFW_KEY_DOWN:
      return Key::down;
    case GLFW_KEY_HOME:
      return Key::home;
    case GLFW_KEY_END:
      return Key::end;
    case GLFW_KEY_PAGE_UP:
      return Key::page_up;
    case GLFW_KEY_PAGE_DOWN:
      return Key::page_down;
    case GLFW_KEY_TAB:
      return Key::tab;
    case GLFW_KEY_ESCAPE:
      return Key::escape;
    case GLFW_KEY_ENTER:
      return Key::enter;
    default:
      return std::nullopt;
  }
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
  // 3.2 draws lists of more than 65,536 vertices: many cells need that.
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 2);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);  // the size is in the design's pixels
  window_ = glfwCreateWindow(std::max(width, kLeastWidth), std::max(height, kLeastHeight),
                             title.c_str(), nullptr, nullptr);
  if (!window_) fail("no window with OpenGL 3.2 can be opened");
  glfwMakeContextCurrent(window_);
  glfwSwapInterval(1);

  // Not asked of ImGui: before 1.87 it forgets a key that is let go before the next frame. Its
  // backend calls these after its own.
  glfwSetWindowUserPointer(window_, this);
  glfwSetKeyCallback(window_, on_key);
  glfwSetCharCallback(window_, on_character);

  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.LogFilename = nullptr;
  if (!ImGui_ImplGlfw_InitForOpenGL(window_, true) || !ImGui_ImplOpenGL3_Init("#version 150")) {
    fail("OpenGL 3.2 does not work here");
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

void Screen::on_key(GLFWwindow* window, int key, int, int action, int modifiers) {
  const auto named = key_of(key);
  if (!named || action == GLFW_RELEASE) return;
  static_cast<Screen*>(glfwGetWindowUserPointer(window))
      ->keys_.push_back(
          {*named, 0, (modifiers & GLFW_MOD_SHIFT) != 0, (modifiers & GLFW_MOD_CONTROL) != 0});
}

void Screen::on_character(GLFWwindow* window, unsigned character) {
  const view::Key key = character == U' ' ? view::Key::space : view::Key::character;
  static_cast<Screen*>(glfwGetWindowUserPointer(window))->keys_.push_back({key, character});
}

std::vector<view::KeyPress> Screen::take_keys() { return std::exchange(keys_, {}); }

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
