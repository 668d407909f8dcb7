// The collectives of a run, each with all of its messages: what a view of one collective shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/memory/range.h"
#include "visualizer/replay/run.h"

namespace zero::replay {

// One message, or one move within a rank.
struct Hop {
  EventIndex send = 0;                // event::Send, or event::Move
  std::optional<EventIndex> receive;  // of the destination; absent for a move, or if it never came
  int step = 1;                       // of the collective's steps, from 1
};

// A rank that takes part.
struct Part {
  int rank = 0;
  EventIndex begin = 0;           // event::CollectiveBegin
  std::optional<EventIndex> end;  // event::CollectiveEnd; absent: it waits, was killed, or runs on
};

struct Collective {
  std::int64_t number = 0;  // the same on every rank
  std::string name, algorithm;
  Range range;               // flat elements, or [0, n)
  std::optional<int> owner;  // of broadcast and reduce
  std::int64_t iteration = -1;
  int step_number = 0;  // the stage's step, 1 to 6
  std::string unit;
  std::size_t begin = 0;            // position: the first rank has begun it
  std::size_t end = 0;              // position: the last rank that ends it has ended it;
                                    // run.size() when none does
  int steps = 1;                    // the collective's own steps
  bool opaque = false;              // a library's: what came of it, but no messages
  std::vector<Part> parts;          // in order of their begins
  std::vector<Hop> hops;            // in order of their sends
  std::vector<EventIndex> results;  // event::Library
};

// All of a run's, by `begin`. An event that names a collective that its rank is not in is left out.
std::vector<Collective> collectives_of(const Run& run);

}  // namespace zero::replay
