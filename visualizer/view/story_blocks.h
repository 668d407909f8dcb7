// The chapters along the clock, as a timeline draws them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "visualizer/view/session.h"

namespace zero::view {

struct Block {
  double begin = 0, end = 0;  // on the clock
  std::int64_t iteration = -1;
  int number = 0;
  std::optional<std::size_t> chapter;  // absent: the run waits
  bool same_step = false;              // as the block before it, which goes on here
};

// Which chapter of a run a phase belongs to: the one that the phase is named after. Ranks may be in
// other chapters meanwhile. Nothing where the run waits, or is before its first step.
std::optional<std::size_t> chapter_of(const Session& session, int run,
                                      const replay::Alignment::Phase& phase);

// By run; each row covers the whole clock. For Session::derived.
struct Blocks {
  explicit Blocks(const Session& session);
  std::vector<std::vector<Block>> rows;
  // Where an iteration begins.
  struct Iteration {
    double begin = 0, end = 0;
    std::int64_t iteration = -1;
  };
  std::vector<Iteration> iterations;
};

}  // namespace zero::view
