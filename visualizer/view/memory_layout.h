// Where the parts of the memory view are, and which numbers its axis shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "visualizer/replay/alignment.h"
#include "visualizer/view/rect.h"

namespace zero::view {

struct MemoryParts {
  struct Band {
    Rect title, scale, plot;  // scale: left of the plot, as high; title: above both
  };
  Rect heading, legend;
  std::vector<Band> bands;  // from top to bottom; all plots have the same x and size
  Rect steps, iterations;   // the axis below the last one
};
// None overlap, all lie within `area`; what has no room is empty.
MemoryParts memory_parts(Rect area, int runs, int legend_lines = 1);

// Round numbers of bytes from 0 up to `most`, at most `count` above 0: multiples of a power of two.
std::vector<std::int64_t> ticks(std::int64_t most, int count);
std::string tick_text(std::int64_t bytes);  // "0", "512 KiB", "4 MiB"

// Neighbouring phases of the clock that are of one step (whatever the unit), or of one iteration.
struct AxisPart {
  std::int64_t iteration = -1;
  int number = 0;
  double begin = 0, end = 0;  // on the clock
};
std::vector<AxisPart> steps_of(const replay::Alignment& alignment);
std::vector<AxisPart> iterations_of(const replay::Alignment& alignment);

}  // namespace zero::view
