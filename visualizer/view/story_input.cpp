#include "visualizer/view/story_input.h"

#include <imgui.h>

namespace zero::view {

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

}  // namespace zero::view
