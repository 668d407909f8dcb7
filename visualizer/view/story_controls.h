// The controls of playback: buttons that are drawn, hinted at and pressed.
#pragma once

#include "visualizer/view/views.h"

namespace zero::view {

enum class Control : std::size_t {
  none = 2000,  // apart from what other views call controls
  previous_step,
  play,
  next_step,
  slower,
  quicker,
  loop,
  logical,
  measured,
  stages,
  collective,
  memory,
  colouring,
  help,
  scrubber
};

void press(Session& session, Control control);

// One row of controls. Presses the one under the pointer.
void draw_controls(Context& context, Rect area);

}  // namespace zero::view
