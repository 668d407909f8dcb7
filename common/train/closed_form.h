// What a stage claims: bytes kept and bytes sent, as formulas, to set beside what was measured.
#pragma once

#include <cstdint>
#include <string>

#include "common/memory/dtype.h"

namespace zero {

enum class Kept { whole, shard };  // by each rank, of one model state

// A stage's claim (ZeRO paper, section 5): which of its model states a rank keeps whole, and how
// many passes over the padded N a rank sends in an iteration.
struct ClosedForm {
  Kept parameters;
  Kept gradients;
  Kept optimizer_states;
  int passes;
};

// In bytes, per rank. With Np the padded N, w the bytes of the training type and M the optimizer's
// bytes a parameter: w Np, w Np and M Np, each whole or divided by K; sent: passes w Np (K-1)/K.
struct ClosedFormBytes {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer_states = 0;
  std::int64_t model_states = 0;  // the sum of the three
  std::int64_t sent_per_iteration = 0;
};

ClosedFormBytes evaluate(const ClosedForm& form, std::int64_t num_parameters, int world_size,
                         Dtype dtype, int optimizer_bytes_per_parameter);

// One line for a rank that cannot have more than `room` bytes: what the model states need as more
// of them are sharded (stages 0 to 3), and the first stage that fits beside `others` bytes, at
// least, of activations, temporaries and scratch.
std::string which_stage_fits(std::int64_t room, std::int64_t others, std::int64_t num_parameters,
                             int world_size, Dtype dtype, int optimizer_bytes_per_parameter);

}  // namespace zero
