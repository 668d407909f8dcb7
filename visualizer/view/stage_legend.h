// What the colours of the stage view mean, below it.
#pragma once

#include "visualizer/view/stage_layout.h"
#include "visualizer/view/views.h"

namespace zero::view {

// The height that it needs in this width: of one line, or of several.
float stage_legend_height(Context& context, const Lanes& lanes, Rect area);
void draw_stage_legend(Context& context, const Lanes& lanes, const StageLayout& layout);

}  // namespace zero::view
