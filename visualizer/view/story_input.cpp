#include "visualizer/view/story_input.h"

#include <imgui.h>

#include <cmath>

namespace zero::view {
namespace {

struct Named {
  int imgui;
  Key key;
};
constexpr Named kNamed[] = {
    {ImGuiKey_LeftArrow, Key::left}, {ImGuiKey_RightArrow, Key::right},
    {ImGuiKey_UpArrow, Key::up},     {ImGuiKey_DownArrow, Key::down},
    {ImGuiKey_Home, Key::home},      {ImGuiKey_End, Key::end},
    {ImGuiKey_PageUp, Key::page_up}, {ImGuiKey_PageDown, Key::page_down},
    {ImGuiKey_Tab, Key::tab},        {ImGuiKey_Escape, Key::escape},
    {ImGuiKey_Enter, Key::enter},
};

// Until 1.87 ImGui knew keys by the window system's numbers, in a table; since then by its own.
template <class Io>
bool is_pressed(const Io& io, int key) {
  if constexpr (requires(Io & any) {
                  any.AddInputCharacter(0u);
                  any.AddKeyEvent({}, true);
                }) {
    return ImGui::IsKeyPressed(static_cast<decltype(ImGuiKey_Tab)>(key));
  } else {
    return io.KeyMap[key] >= 0 && ImGui::IsKeyPressed(io.KeyMap[key]);
  }
}

}  // namespace

Input read_input(double seconds, Point scale) {
  const ImGuiIO& io = ImGui::GetIO();
  Input input;
  input.seconds = seconds;
  // ImGui's word for "nowhere" is very far to the left.
  if (io.MousePos.x > -1e6f) input.mouse = {io.MousePos.x * scale.x, io.MousePos.y * scale.y};
  input.pressed = io.MouseClicked[0];
  input.down = io.MouseDown[0];
  input.released = io.MouseReleased[0];
  input.double_clicked = io.MouseDoubleClicked[0];
  input.wheel = io.MouseWheel;
  return input;
}

std::vector<KeyPress> read_keys() {
  const ImGuiIO& io = ImGui::GetIO();
  std::vector<KeyPress> presses;
  for (const Named& named : kNamed) {
    if (is_pressed(io, named.imgui)) presses.push_back({named.key, 0, io.KeyShift, io.KeyCtrl});
  }
  for (const ImWchar c : io.InputQueueCharacters) {
    presses.push_back({c == ' ' ? Key::space : Key::character, c, io.KeyShift, io.KeyCtrl});
  }
  return presses;
}

}  // namespace zero::view
