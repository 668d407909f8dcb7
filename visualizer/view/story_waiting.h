// Words on where a session is, and on runs that do not go on.
#pragma once

#include <string>

#include "visualizer/view/session.h"

namespace zero::view {

// "iteration 2 of 3", "before the first iteration".
std::string iteration_text(const Session& session);

// Which ranks' traces end before they should, at the moment: empty when none does. "zero2: GPUs 0
// and 2 wait in reduce; the trace of GPU 1 breaks off".
std::string waiting_text(const Session& session);

// "GPU 0", "GPUs 0 and 2", "GPUs 0, 1 and 2".
std::string gpus_text(const std::vector<int>& ranks);

}  // namespace zero::view
