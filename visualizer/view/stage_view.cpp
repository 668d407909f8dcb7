#include "visualizer/view/views.h"

namespace zero::view {

void draw_stages(Context& context, Rect area) { context.canvas.outline(area, context.canvas.theme().faint); }

}  // namespace zero::view
