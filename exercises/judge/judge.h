// What the judge of stage programs is made of: a run, as its files tell it, and what is wrong with
// it.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/trace/reader.h"
#include "tests/support/ground_truth.h"
#include "tests/support/stage.h"

namespace zero::judge {

// As course/ladder.py has it, without the case.
struct Finding {
  std::string rung, text, look;
  // After so many iterations the state would tell more, if the program were run again and stopped
  // there; 0: it would not.
  int again = 0;
};
using Findings = std::vector<Finding>;

// What was run, and where its files are: result.json, rank*.jsonl, index.json, rank*_*.bin. All
// that is in the folder was written by the answer, so nothing in it can be believed.
struct Request {
  std::string stage;  // that the answer should be: "zero1"
  Work work;
  double loss_scale = 65536;
  std::string folder;
  // The run ended in a report because its ranks held different bits: there are traces up to there,
  // and nothing else.
  bool diverged = false;
};

// A file that is missing, damaged, or contradicts another: one sentence.
struct Unusable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Run {
  nlohmann::json result;          // of --json, with everything that is read from it; null: diverged
  nlohmann::json claims;          // the closed form, in bytes
  std::vector<RankTrace> traces;  // of all ranks; the last iteration has its event in any case
  FollowedTruth truth;            // empty: diverged
};

// Reads a run, and checks that its files agree with the request and with each other. Throws
// Unusable.
Run read_run(const Request& request);

// ---- the rungs ----------------------------------------------------------------------------------

// Rung memory: what is alive after each iteration, and what the program claims to keep.
Findings check_memory(const Request& request, const Run& run);
// Rung peak: what each category held at most.
Findings check_peak(const Request& request, const Run& run);
// Rung traffic: what each rank sent in each iteration, and what the program claims to send.
Findings check_traffic(const Request& request, const Run& run);
// Rung numbers: every iteration, and the state at the end, against the ground truth.
Findings check_numbers(const Request& request, const Run& run);

// ---- words --------------------------------------------------------------------------------------

// A stage as people write it: "ZeRO-1".
std::string title(std::string_view stage);
// The formula of what a rank keeps of a model state: "12N/K".
std::string formula(const Request& request, Memory state);
// "N = 12,363 with padding, K = 3".
std::string sizes(const Request& request);
// Text of the answer's, shown to people: one line, and not long.
std::string shown(std::string_view text);
// "rank 1", "ranks 0, 2".
std::string ranks_text(const std::vector<int>& ranks);
// "in step 3", "in step 2, unit block 1", "at the start".
std::string place_text(const event::Step& step);

}  // namespace zero::judge
