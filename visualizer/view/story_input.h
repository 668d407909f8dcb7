// What ImGui knows of the pointer, in the views' terms.
#pragma once

#include "visualizer/view/views.h"

namespace zero::view {

// Between ImGui::NewFrame and the next one. `scale`: the design's pixels in one of ImGui's.
Input read_input(double seconds, Point scale = {1, 1});

}  // namespace zero::view
