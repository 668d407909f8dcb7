// How a buffer of the stage view looks: its cells, toned by what they hold.
#pragma once

#include "visualizer/view/views.h"

namespace zero::view {

// What neighbouring elements have in common when they look the same.
struct Look {
  Colour fill = 0;
  Pattern pattern = Pattern::plain;
  Colour ink = 0;        // of the pattern
  bool hollow = false;   // only an outline of `ink`
  bool stripes = false;  // who contributed, along the bottom
  bool operator==(const Look&) const = default;
};

// The colour of what a cell holds: the more of it is final, the more it has of its category's.
Colour toned(const Style& style, const replay::Content& content, Colour panel, int world_size);

// A buffer on the screen: element e of it begins at x0 + e * per_element.
struct Drawn {
  int run = 0, rank = 0;
  const replay::Buffer* buffer = nullptr;
  Rect box;  // nothing is drawn outside
  float x0 = 0, per_element = 0;
  bool flat = false;  // stands for positions
  Range work;         // positions that this rank is busy with

  Rect part(std::int64_t begin, std::int64_t end) const {
    return Rect{x0 + per_element * static_cast<float>(begin), box.y0,
                x0 + per_element * static_cast<float>(end), box.y1}
        .intersection(box);
  }
};

// Draws all cells and leaves a mark for each.
void draw_cells(Context& context, const Drawn& drawn);

}  // namespace zero::view
