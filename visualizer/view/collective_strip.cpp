// The moments of one collective side by side: before, after each step, and at the end.
#include "visualizer/view/collective_paint.h"

namespace zero::view {

void draw_collective_strip(Context& context, Rect area, int, const replay::Collective&) {
  context.canvas.outline(area, context.canvas.theme().faint);
}

}  // namespace zero::view
