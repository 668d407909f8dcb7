// One whole picture: which view stands where.
#pragma once

#include <vector>

#include "visualizer/view/views.h"

namespace zero::view {

// What a picture is made of.
enum class Content : std::uint8_t {
  window,   // everything, with controls
  picture,  // the main view with its caption, beside it the bytes
  plain,    // the main view with its caption
  strip     // the steps of the session's collective
};

// Draws everything within `area`, follows the pointer, and leaves the marks and labels in `canvas`.
void draw_frame(Canvas& canvas, Session& session, const Input& input, Rect area, Content content);

// The parts of a picture of this size, for tests: none overlap, together they fill it.
struct Parts {
  Rect caption, main, side, side_top, timeline;  // empty ones are not there
};
Parts parts_of(const Session& session, Rect area, Content content);

}  // namespace zero::view
