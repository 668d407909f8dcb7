// The ground truth of data-parallel training: one process without any communication computes the
// gradients of all micro-batches, adds them in the documented order, rounds, clips and updates in
// plain loops. A program's run must arrive at the same bits.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/stage.h"

namespace zero {

// Follows a run that was made with `work`, --loss-scale `loss_scale` and --dump-state `folder`, and
// returns what it finds wrong, one sentence each. Clip, decay, rate and warm-up are the defaults;
// an
// --overflow-at is followed.
//
// `result` is what the run wrote with --json. Its norms must be close to the truth's, and then
// decide to the last bit: squares may be added in any order.
std::vector<std::string> check_against_truth(const nlohmann::json& result, const Work& work,
                                             double loss_scale, const std::string& folder);

}  // namespace zero
