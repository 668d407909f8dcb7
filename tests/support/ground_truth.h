// The ground truth of data-parallel training: one process without any communication computes the
// gradients of all micro-batches, adds them in the documented order, rounds, clips and updates in
// plain loops. A program's run must arrive at the same bits.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/stage.h"

namespace zero {

// How the truth trains: a run that is compared with it is made with these options, --loss-scale and
// --dump-state.
inline const std::vector<std::string> kTruthOptions = {
    "--learning-rate", "0.003", "--warmup", "5", "--clip", "1", "--weight-decay", "0.1"};

// Follows a run that was made with `work`, `loss_scale` and `folder`, and returns what it finds
// wrong, one sentence each. An --overflow-at is followed.
//
// `result` is what the run wrote with --json. Its norms must be close to the truth's, and then
// decide to the last bit: squares may be added in any order.
std::vector<std::string> check_against_truth(const nlohmann::json& result, const Work& work,
                                             double loss_scale, const std::string& folder);

}  // namespace zero
