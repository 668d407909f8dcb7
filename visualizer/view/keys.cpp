#include "visualizer/view/views.h"

namespace zero::view {

bool handle_key(Session&, const KeyPress&) { return false; }

}  // namespace zero::view
