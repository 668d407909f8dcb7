// What can be said of a stage without running it.
#include "stages/plan/formulas.h"

#include "common/model/activations.h"
#include "common/model/layout.h"

namespace zero {

const std::array<PlannedStage, kPlannedStages>& planned_stages() {
  constexpr auto kWhole = Kept::whole;
  constexpr auto kShard = Kept::shard;
  static const std::array<PlannedStage, kPlannedStages> kStages = {
      {{"ddp", {kWhole, kWhole, kWhole, 2}, "nothing is sharded"},
       {"zero1", {kWhole, kWhole, kShard, 2}, "the optimizer states are sharded"},
       {"zero2", {kWhole, kShard, kShard, 2}, "optimizer states and gradients are sharded"},
       {"zero3",
        {kShard, kShard, kShard, 3},
        "optimizer states, gradients and parameters are sharded"}}};
  return kStages;
}

const PlannedStage* find_planned_stage(const std::string& program) {
  for (const PlannedStage& stage : planned_stages()) {
    if (stage.program == program) return &stage;
  }
  return nullptr;
}

double state_bytes_per_parameter(const ClosedForm& form, int gpus, Dtype dtype,
                                 int optimizer_bytes) {
  // K parameters need no padding.
  return static_cast<double>(evaluate(form, gpus, gpus, dtype, optimizer_bytes).model_states) /
         gpus;
}

std::int64_t largest_by_states(const ClosedForm& form, std::int64_t memory, int gpus, Dtype dtype,
                               int optimizer_bytes) {
  return gpus * (memory / evaluate(form, gpus, gpus, dtype, optimizer_bytes).model_states);
}

std::int64_t count_parameters(const ModelConfig& config) {
  return make_layout(config).back().parameters.end;
}

std::int64_t checkpointed_activations(const ModelConfig& config, int B, Dtype dtype) {
  ModelConfig one_block = config;
  one_block.layers = 1;
  const std::int64_t input = std::int64_t{B} * config.context * config.channels * bytes_of(dtype);
  return Activations::bytes_after_forward(one_block, B, dtype) + (config.layers - 1) * input;
}

double least_seconds(std::int64_t num_parameters, double tokens, int gpus,
                     double flops_per_second) {
  return 6 * static_cast<double>(num_parameters) * tokens / (gpus * flops_per_second);
}

}  // namespace zero
