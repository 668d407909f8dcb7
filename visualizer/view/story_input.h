// What ImGui knows of pointer and keyboard, in the views' terms.
#pragma once

#include <vector>

#include "visualizer/view/views.h"

namespace zero::view {

// Both between ImGui::NewFrame and the next one. `scale`: the design's pixels in one of ImGui's.
Input read_input(double seconds, Point scale = {1, 1});
std::vector<KeyPress> read_keys();

}  // namespace zero::view
