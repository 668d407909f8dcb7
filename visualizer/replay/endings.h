// How each rank's trace ends: by itself, with a failure, or broken off, and then who waits for
// whom.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "visualizer/replay/run.h"

namespace zero::replay {

struct Ending {
  enum class How : std::uint8_t {
    no_trace,    // the rank has no file
    ended,       // with its last line
    failed,      // with its last line, which says why
    waits,       // broken off in a collective, for a message that its source never sent
    broken_off,  // broken off: it was killed, or nobody can tell
  };
  How how = How::ended;
  std::string message;                   // why it failed; may be empty
  std::optional<EventIndex> collective;  // event::CollectiveBegin that its trace ends in
  int waits_for = -1;                    // the rank whose message it waits for
  bool furthest_behind = false;          // of those that are broken off
};

// By rank, of the whole traces. A run that is still growing may go on from here.
std::vector<Ending> endings_of(const Run& run);

// Where a rank that ended began to leave: the first of the frees right before its last line, or
// that line. Until then it holds what it had. Nothing where there is no last line.
std::optional<EventIndex> leaving_of(const Run& run, int rank);

}  // namespace zero::replay
