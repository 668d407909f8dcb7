// What plan finds out about one model on one cluster, before anything is printed.
#pragma once

#include <optional>
#include <vector>

#include "stages/plan/formulas.h"
#include "stages/plan/search.h"
#include "stages/plan/simulation.h"

namespace zero {

struct StagePlan {
  const PlannedStage* stage = nullptr;
  ClosedFormBytes formula;
  bool fits = false;    // into the GPU's memory
  SimulatedRun run;     // when it does not fit: on a GPU that is large enough
  std::string refusal;  // what the program said when it did not fit

  // With activation checkpointing, by the formula, at most: bytes in all, and whether they fit.
  std::int64_t checkpointed_total = 0;
  bool checkpointed_fits = false;

  Found largest_batch;                  // sequences per GPU
  Found largest_layers;                 // of this shape, with the batch that was asked for
  std::int64_t largest_parameters = 0;  // that a model of so many layers has
  std::int64_t largest_by_states = 0;   // parameters
};

// The same work on another number of GPUs; by stage. Nothing: does not fit.
struct SweepPoint {
  int gpus = 1;
  std::vector<std::optional<SimulatedRun>> runs;
};

struct Plan {
  std::int64_t num_parameters = 0;
  std::int64_t kept_activations = 0;          // formula: what the programs keep after the forward
  std::int64_t checkpointed_activations = 0;  // formula
  std::vector<StagePlan> stages;
  int smallest = -1;    // of `stages`: the first that fits
  int gpus_needed = 0;  // when none fits: for the last of `stages`; 0: no number helps
  std::vector<SweepPoint> sweep;
};

// Runs the stage programs. Throws UsageError when they do not take what is asked for.
Plan make_plan(const PlanOptions& options, const Simulator& simulator);

// "ZeRO-2".
std::string name_of(const PlannedStage& stage);

}  // namespace zero
