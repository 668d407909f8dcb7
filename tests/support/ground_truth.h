// The ground truth of data-parallel training: one process without any communication computes the
// gradients of all micro-batches, adds them in the documented order, rounds, clips and updates in
// plain loops. A program's run must arrive at the same bits.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/memory/dtype.h"
#include "tests/support/stage.h"

namespace zero {

// How the truth trains: a run that is compared with it is made with these options, --loss-scale and
// --dump-state.
inline const std::vector<std::string> kTruthOptions = {
    "--learning-rate", "0.003", "--warmup", "5", "--clip", "1", "--weight-decay", "0.1"};

// Where an iteration differs from the truth first.
struct TruthDifference {
  int iteration = 0;  // from 0
  std::string what;   // "loss" (the mean over the ranks), "loss scale", "skipped" or "norm"
  double expected = 0, actual = 0;  // skipped: 1 or 0; not a number where there is none
};

// The truth after the last iteration, or after those before the difference. Padding included.
struct FollowedTruth {
  std::optional<TruthDifference> difference;
  std::vector<bool> skipped;  // each iteration before the difference: whether it had to be skipped
  std::vector<float> parameters, master, exp_avg, exp_avg_sq;
  // Bytes that the units' own operators had at most, on one rank: the same in every stage.
  std::int64_t activations = 0, workspace = 0;
};

// Follows a run that was made with `work`, `loss_scale` and kTruthOptions. An --overflow-at is
// followed.
//
// `result` is what the run wrote with --json. Its norms must be close to the truth's, and then
// decide to the last bit: squares may be added in any order.
FollowedTruth follow_truth(const nlohmann::json& result, const Work& work, double loss_scale);

// The same, and compares the state that was dumped into `folder`. Returns what it finds wrong, one
// sentence each.
std::vector<std::string> check_against_truth(const nlohmann::json& result, const Work& work,
                                             double loss_scale, const std::string& folder);

// A number as it is stored: its bits, in the low bytes.
float value_of_bits(Dtype dtype, std::uint32_t bits);

Dtype dtype_of(const Work& work);

}  // namespace zero
