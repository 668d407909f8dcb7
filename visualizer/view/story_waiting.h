// Words on where a session is, and on runs that do not go on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "visualizer/view/session.h"

namespace zero::view {

// "iteration 2 of 3", "before the first iteration".
std::string iteration_text(const Session& session);

// Why a rank does not go on at the moment. While a followed run grows nothing is wrong.
struct Halt {
  std::string words;    // "waits for GPU 2", "its trace ends in reduce", "so far"
  bool wrong = false;   // not as it should be
  bool broken = false;  // here it went wrong: it failed, or was killed
};
// Nothing for a rank that goes on, or has ended as it should.
std::optional<Halt> halt_of(const Session& session, int run, int rank);

// Which ranks do not go on, at the moment, or that the end is not the run's: empty when all do.
// "zero2: GPUs 0 and 1 wait in reduce; the trace of GPU 2 ends in all_gather".
std::string waiting_text(const Session& session);
bool anything_wrong(const Session& session);  // in what it says

// Where a run that failed still holds all that it had: the clock when the first rank to fail, by
// the traces' times, begins to free it. Nothing when no rank failed.
std::optional<double> failing_moment(const Session& session);
// The whole message of a rank that has failed by now; empty else.
std::string failure_of(const Session& session, int run, int rank);

// "GPU 0", "GPUs 0 and 2", "GPUs 0, 1 and 2".
std::string gpus_text(const std::vector<int>& ranks);

}  // namespace zero::view
