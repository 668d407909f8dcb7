// What can be said of a stage without running it: the formulas, to set beside the runs.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/model/config.h"
#include "common/train/closed_form.h"

namespace zero {

// A stage program and its claim (ZeRO paper, section 5), written down here once more.
struct PlannedStage {
  std::string program;  // "zero2"
  ClosedForm form;
  std::string sharded;  // in words
};
inline constexpr int kPlannedStages = 4;
const std::array<PlannedStage, kPlannedStages>& planned_stages();  // by their numbers, 0 to 3

// Null when there is no such program.
const PlannedStage* find_planned_stage(const std::string& program);

// Bytes of model states per parameter and GPU: 2w + M for DDP, (2w + M) / K for ZeRO-3, where w is
// the bytes of the training type.
double state_bytes_per_parameter(const ClosedForm& form, int gpus, Dtype dtype,
                                 int optimizer_bytes);

// The largest N, a multiple of `gpus`, whose model states alone fill no more than `memory` bytes of
// each: the "theoretical" columns of the ZeRO paper's table 2.
std::int64_t largest_by_states(const ClosedForm& form, std::int64_t memory, int gpus, Dtype dtype,
                               int optimizer_bytes);

// The number of parameters, from the layout.
std::int64_t count_parameters(const ModelConfig& config);

// Bytes of activations per GPU, at most, if each block kept its input only and one block at a time
// were computed again for its backward pass (Chen et al., 2016): those of a model of one block,
// and the inputs of the L - 1 others, B T C elements each. The stage programs do not do it.
std::int64_t checkpointed_activations(const ModelConfig& config, int B, Dtype dtype);

// 6 N D FLOPs (2 in the forward pass, 4 in the backward pass, for each parameter and token; Kaplan
// et al., 2020) on `gpus` that do nothing else and reach their data sheets' rate.
double least_seconds(std::int64_t num_parameters, double tokens, int gpus, double flops_per_second);

}  // namespace zero
