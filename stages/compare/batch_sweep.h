// Shows each stage's memory as the batch grows: model states do not move, activations do.
#pragma once

#include <nlohmann/json.hpp>

#include "stages/compare/stage_runner.h"

namespace zero {

// Runs each chosen stage with 1, 2, 4 and 8 sequences per rank for one iteration and prints a
// table. Returns the exit status: 1 when a stage fails or its model states move.
int show_batch_sweep(const CompareOptions& options, const StageRunner& runner,
                     nlohmann::ordered_json& json);

}  // namespace zero
