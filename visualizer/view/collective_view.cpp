#include "visualizer/view/views.h"

namespace zero::view {

void draw_collective(Context& context, Rect area, int) {
  context.canvas.outline(area, context.canvas.theme().faint);
}

void draw_collective_strip(Context& context, Rect area, int, const replay::Collective&) {
  context.canvas.outline(area, context.canvas.theme().faint);
}

}  // namespace zero::view
