// The views: each draws one part of what a session shows into its rectangle.
#pragma once

#include <vector>

#include "visualizer/view/canvas.h"
#include "visualizer/view/session.h"

namespace zero::view {

// What the viewer did since the last frame.
struct Input {
  Point mouse{-1, -1};
  bool pressed = false, down = false, released = false, double_clicked = false;
  float wheel = 0;
  double seconds = 0;  // since the last frame
};

struct Context {
  Canvas& canvas;
  Session& session;
  const Input& input;
  bool controls = true;  // false in exported pictures: nothing there can be clicked
};

// Stage view: rows are runs, columns are ranks; what each holds of the flat parameter vector, and
// beside it.
void draw_stages(Context& context, Rect area);
// The session's collective of a run: ranks, chunks, and what moves between them.
void draw_collective(Context& context, Rect area, int run);
// Several moments of one collective below each other: one row per step.
void draw_collective_strip(Context& context, Rect area, int run, const replay::Collective& shown);
// Live bytes over time of the session's rank, one band per run; exact peaks.
void draw_memory(Context& context, Rect area);
// Bytes by category and run, with the closed form beside them, and bytes sent.
void draw_bytes(Context& context, Rect area);
// What is selected: name, range, bytes, address, contributors, values, history, line of the trace.
void draw_inspect(Context& context, Rect area);
// A few words on what is hovered, beside the pointer, within `area`.
void draw_tooltip(Context& context, Rect area);
// What the step is called, and one sentence of what happens in it and why.
void draw_caption(Context& context, Rect area);
// The clock: chapters, the scrubber, and the controls of playback.
void draw_timeline(Context& context, Rect area);
// Every key and what it does.
void draw_help(Context& context, Rect area);

// ---- keys ----
enum class Key : std::uint8_t {
  space,
  left,
  right,
  up,
  down,
  home,
  end,
  tab,
  escape,
  enter,
  page_up,
  page_down,
  character
};
struct KeyPress {
  Key key = Key::character;
  char32_t character = 0;
  bool shift = false, control = false;
};
// Does what the key says; false when it says nothing.
bool handle_key(Session& session, const KeyPress& press);

}  // namespace zero::view
