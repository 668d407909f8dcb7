// Finds out what plan prints, by running the stage programs on simulated GPUs.
#include "stages/plan/plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "common/model/activations.h"
#include "stages/compare/say.h"

namespace zero {
namespace {

// One line that changes, on a terminal only: most plans take less than a few seconds.
class Progress {
 public:
  explicit Progress(bool quiet) : live_(!quiet && isatty(2) == 1) {}
  ~Progress() {
    if (live_) say(stderr, "\r\033[K");
  }
  void show(const std::string& what) const {
    if (!live_) return;
    say(stderr, "\r\033[Kplan: {}", what);
    std::fflush(stderr);
  }

 private:
  bool live_;
};

Trial trial_of(const PlanOptions& options, const PlannedStage& stage) {
  return {.stage = stage.program,
          .gpus = options.gpu_count(),
          .batch = options.batch,
          .layers = options.understood.model.layers,
          .memory = options.gpu().memory};
}

bool runs(const Simulator& simulator, const Trial& trial) {
  return simulator.run(trial).fate == Fate::ran;
}

// Whether the programs take it at all: asked of a GPU without memory, on which nothing takes long.
bool is_taken(const Simulator& simulator, Trial trial) {
  trial.memory = 1;
  return simulator.run(trial).fate != Fate::refused;
}

// Numbers beyond int are beyond the programs.
bool countable(std::int64_t number) { return number <= std::numeric_limits<int>::max(); }

Found largest_batch(const PlanOptions& options, const Simulator& simulator, const Trial& trial) {
  const auto with_batch = [&](std::int64_t batch) {
    Trial changed = trial;
    changed.batch = static_cast<int>(batch);
    return changed;
  };
  return largest(
      options.batch,
      [&](std::int64_t n) { return countable(n) && is_taken(simulator, with_batch(n)); },
      [&](std::int64_t n) { return runs(simulator, with_batch(n)); });
}

Found largest_layers(const Simulator& simulator, const Trial& trial) {
  const auto with_layers = [&](std::int64_t layers) {
    Trial changed = trial;
    changed.layers = static_cast<int>(layers);
    return changed;
  };
  return largest(
      trial.layers,
      [&](std::int64_t n) { return countable(n) && is_taken(simulator, with_layers(n)); },
      [&](std::int64_t n) { return runs(simulator, with_layers(n)); });
}

// All but activations at their peaks, and of activations what the backward pass adds to those that
// wait for it: an upper bound of the peak of the sum.
std::int64_t with_checkpointing(const SimulatedRun& run, std::int64_t kept,
                                std::int64_t checkpointed) {
  const std::int64_t others = run.states() + run.temporary + run.communication + run.workspace;
  const std::int64_t more = std::max<std::int64_t>(0, run.activations - kept);
  return std::min(run.total, others + more + checkpointed);
}

StagePlan plan_stage(const PlanOptions& options, const Simulator& simulator,
                     const PlannedStage& stage, const Plan& plan, const Progress& progress) {
  const std::string name = name_of(stage);
  StagePlan result;
  result.stage = &stage;
  result.formula = evaluate(stage.form, plan.num_parameters, options.gpu_count(),
                            options.understood.dtype, options.optimizer_bytes);
  result.largest_by_states =
      largest_by_states(stage.form, options.gpu().memory, options.gpu_count(),
                        options.understood.dtype, options.optimizer_bytes);
  Trial trial = trial_of(options, stage);
  progress.show(name + ": an iteration");
  result.run = simulator.run(trial);
  result.fits = result.run.fate == Fate::ran;
  if (result.run.fate == Fate::too_small) {
    result.refusal = result.run.errors;
    trial.memory = 0;
    result.run = simulator.run(trial);
    trial.memory = options.gpu().memory;
  }
  if (result.run.fate != Fate::ran) {
    std::string message = result.run.errors;
    while (!message.empty() && message.back() == '\n') message.pop_back();
    throw UsageError(message);
  }
  result.checkpointed_total =
      with_checkpointing(result.run, plan.kept_activations, plan.checkpointed_activations);
  result.checkpointed_fits = result.checkpointed_total <= options.gpu().memory;
  progress.show(name + ": the largest batch");
  result.largest_batch = largest_batch(options, simulator, trial);
  progress.show(name + ": the largest model");
  result.largest_layers = largest_layers(simulator, trial);
  if (result.largest_layers.number > 0) {
    ModelConfig config = options.understood.model;
    config.layers = static_cast<int>(result.largest_layers.number);
    result.largest_parameters = count_parameters(config);
  }
  return result;
}

// 1, 2, 4, ... and the cluster's own number.
std::vector<SweepPoint> sweep(const PlanOptions& options, const Simulator& simulator,
                              const Plan& plan, const Progress& progress) {
  std::vector<int> numbers;
  for (std::int64_t gpus = 1; gpus < options.gpu_count(); gpus *= 2)
    numbers.push_back(static_cast<int>(gpus));
  numbers.push_back(options.gpu_count());
  std::vector<SweepPoint> points;
  for (const int gpus : numbers) {
    progress.show(fmt::format("throughput of {} GPUs", gpus));
    SweepPoint point;
    point.gpus = gpus;
    for (const StagePlan& stage : plan.stages) {
      Trial trial = trial_of(options, *stage.stage);
      trial.gpus = gpus;
      const SimulatedRun& run = simulator.run(trial);
      point.runs.push_back(run.fate == Fate::ran ? std::optional(run) : std::nullopt);
    }
    points.push_back(point);
  }
  return points;
}

int gpus_needed(const PlanOptions& options, const Simulator& simulator, const StagePlan& stage,
                const Progress& progress) {
  constexpr std::int64_t kMost = 16384;  // that the stage programs simulate
  progress.show("how many GPUs would do");
  Trial trial = trial_of(options, *stage.stage);
  return static_cast<int>(smallest(trial.gpus, kMost, [&](std::int64_t gpus) {
    trial.gpus = static_cast<int>(gpus);
    return runs(simulator, trial);
  }));
}

}  // namespace

std::string name_of(const PlannedStage& stage) { return display_name(stage.program); }

Plan make_plan(const PlanOptions& options, const Simulator& simulator) {
  const Progress progress(options.quiet);
  const ModelConfig& config = options.understood.model;
  Plan plan;
  plan.num_parameters = count_parameters(config);
  plan.kept_activations =
      Activations::bytes_after_forward(config, options.batch, options.understood.dtype);
  plan.checkpointed_activations =
      checkpointed_activations(config, options.batch, options.understood.dtype);
  for (const std::string& program : options.stages) {
    plan.stages.push_back(
        plan_stage(options, simulator, *find_planned_stage(program), plan, progress));
    if (plan.stages.back().fits && plan.smallest < 0)
      plan.smallest = static_cast<int>(plan.stages.size()) - 1;
  }
  if (plan.smallest < 0)
    plan.gpus_needed = gpus_needed(options, simulator, plan.stages.back(), progress);
  if (options.sweep) plan.sweep = sweep(options, simulator, plan, progress);
  return plan;
}

}  // namespace zero
