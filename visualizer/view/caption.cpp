#include "visualizer/view/views.h"

namespace zero::view {

void draw_caption(Context& context, Rect area) { context.canvas.outline(area, context.canvas.theme().faint); }

}  // namespace zero::view
