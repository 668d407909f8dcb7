// Runs a stage program on simulated GPUs and reads what it held, sent and took.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stages/compare/process.h"
#include "stages/compare/stage_runner.h"
#include "stages/plan/options.h"

namespace zero {

// What of the plan differs between runs.
struct Trial {
  std::string stage;        // "zero2"
  int gpus = 1;             // K
  int batch = 1;            // sequences per GPU
  int layers = 1;           // L
  std::int64_t memory = 0;  // bytes of each GPU; 0: as much as it takes
};

enum class Fate {
  ran,
  too_small,  // the GPU's memory
  refused     // more than the stage programs take
};

// Of one GPU; all are alike.
struct SimulatedRun {
  Fate fate = Fate::ran;
  std::string errors;  // what the program said when it did not run
  std::vector<std::string> command;

  std::int64_t num_parameters = 0;
  std::int64_t parameters = 0, gradients = 0, optimizer_states = 0;  // bytes, at their peak
  std::int64_t activations = 0, temporary = 0, communication = 0, workspace = 0;
  std::int64_t total = 0;  // bytes: the peak of their sum, not the sum of their peaks
  std::string peak_step;   // where that was
  std::int64_t sent = 0;   // bytes per iteration
  double seconds = 0;      // of an iteration; computing + communicating
  double computing = 0;    // seconds
  double communicating = 0;
  double product_flops = 0;  // FLOPs of matrix products, per iteration

  std::int64_t states() const { return parameters + gradients + optimizer_states; }
};

class Simulator {
 public:
  // Both must outlive it.
  Simulator(const PlanOptions& options, const ProcessRunner& processes)
      : options_(options), processes_(processes) {}

  // The same trial is run once. Throws std::runtime_error when the program fails for another reason
  // than memory, or its result is not as expected.
  const SimulatedRun& run(const Trial& trial) const;

 private:
  std::vector<std::string> arguments(const Trial& trial) const;

  const PlanOptions& options_;
  const ProcessRunner& processes_;
  TemporaryFolder folder_;
  mutable std::map<std::vector<std::string>, SimulatedRun> known_;  // by command
};

}  // namespace zero
