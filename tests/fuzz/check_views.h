// What must hold of the views of any trace at all: they are drawn, within the screen.
#pragma once

#include <string>

#include "visualizer/export/headless.h"

namespace zero {

// Draws the run in DIRECTORY, if there is one, at some moments, points, clicks and presses keys.
// `choice` says which view and colours, and where: any number. Throws std::logic_error.
void check_views(Headless& screen, const std::string& directory, unsigned choice);

}  // namespace zero
