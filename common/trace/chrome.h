// A run as one Chrome trace, which Perfetto and chrome://tracing draw.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "common/trace/match.h"
#include "common/trace/reader.h"

namespace zero {

// What to add to each rank's times (in nanoseconds, one for each of run.ranks), so that no message
// arrives before it was sent. Ranks have no common clock; these are the smallest shifts, none of
// them negative, that are consistent with every message, starting from the assumption that all
// ranks opened their traces at once.
struct Alignment {
  std::vector<std::int64_t> shift;
  // False: no shifts are consistent (a trace was altered, or a clock went wrong). Arrows that would
  // point back are then drawn upright.
  bool consistent = true;
};
Alignment align(const RunTrace& run, const Matched& matched);

struct ChromeSummary {
  std::int64_t slices = 0, arrows = 0, counters = 0;
};

// Writes one JSON object {"traceEvents": [...]}:
//   a process per rank, with three tracks: steps (iterations, and the steps inside), operators,
//   communication (collectives, and their messages inside)
//   an arrow per message, from its send to its receive
//   a counter per category of memory, in bytes, at every allocation and release
ChromeSummary write_chrome_trace(const RunTrace& run, std::ostream& out);

}  // namespace zero
