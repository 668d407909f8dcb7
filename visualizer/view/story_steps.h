// The steps of all runs on their common clock: where "next step" goes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "visualizer/replay/alignment.h"
#include "visualizer/replay/run.h"

namespace zero::view {

struct StepBegin {
  double clock = 0;       // every rank of every run that has this step has begun it
  std::size_t phase = 0;  // of the alignment
  std::int64_t iteration = -1;
  int number = 0;
  std::string unit;  // empty: about no single unit
};

// In order of the clock; steps at the same phase are one.
std::vector<StepBegin> steps_of(const std::vector<std::shared_ptr<const replay::Run>>& runs,
                                const replay::Alignment& alignment);

}  // namespace zero::view
