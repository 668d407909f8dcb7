// What a stage program wrote with --json, and whether it is what it should be.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace zero {

struct IterationResult {
  std::int64_t iteration = 0;  // as the stage counts
  std::optional<double> loss;  // nothing: not finite
  std::string fingerprint;     // of the whole state, after the iteration; empty: simulated
  std::optional<double> gradient_norm;
  double loss_scale = 1;
  bool skipped = false;
};

struct MemoryUse {
  std::int64_t live = 0, peak = 0;  // bytes
};

struct RankResult {
  int rank = 0;
  std::map<std::string, MemoryUse> memory;  // by category
  std::int64_t peak_total = 0;              // bytes
  std::string peak_step;
  // Tensor bytes per iteration, the most and the least; nothing: not measured.
  std::optional<std::int64_t> sent, sent_least;
  std::int64_t scalars = 0;  // bytes per iteration
};

// Bytes per rank.
struct ClosedFormResult {
  std::int64_t parameters = 0, gradients = 0, optimizer_states = 0, model_states = 0, sent = 0;
  bool operator==(const ClosedFormResult&) const = default;
};

struct StageResult {
  std::string stage;  // "zero2"
  int world_size = 1;
  std::string dtype;
  std::string collectives;  // empty: not said
  std::string device;       // "cpu", "cuda", "simulated"
  std::int64_t num_parameters = 0, padded_parameters = 0;
  int optimizer_bytes_per_parameter = 0;
  std::vector<IterationResult> iterations;  // at least one
  std::vector<RankResult> ranks;            // world_size of them
  ClosedFormResult closed_form;             // what the stage itself claims
  double median_seconds = 0;                // of an iteration

  const IterationResult& last() const { return iterations.back(); }
  int skipped() const;  // how many iterations
  // Bytes and time, but no values: there are no bits to compare.
  bool simulated() const { return device == "simulated"; }
  // ", cuda" for a title: nothing on the CPU, where most runs are.
  std::string on_device() const { return device == "cpu" ? "" : ", " + device; }
};

// Throws std::runtime_error that says what is missing or of the wrong kind.
StageResult parse_stage_result(const std::string& stage, const nlohmann::json& json);

// The bytes of one model state, or of their sum, on one rank at the end of the last iteration.
// `name`: "parameters", "gradients", "optimizer_states" or "model_states".
std::int64_t model_state_bytes(const RankResult& rank, const std::string& name);

// The largest value over the ranks of a category's peak.
std::int64_t largest_peak(const StageResult& result, const std::string& category);

// The rank that holds most at its peak; the first of several.
const RankResult& fullest_rank(const StageResult& result);

// The ZeRO paper, sections 5 and 7. Computed here once more, from N, K, the type and M alone,
// so that a stage is not measured with its own ruler. For a program of another name: its own claim.
ClosedFormResult closed_form(const StageResult& result);

// One sentence for every number that is not exactly the closed form, on any rank: model states live
// and at their peak, and bytes sent; and for a claim that is not the closed form. Empty: all equal.
std::vector<std::string> formula_errors(const StageResult& result);

// "DDP", "ZeRO-2"; another program's name stays as it is.
std::string display_name(const std::string& stage);

}  // namespace zero
