// What follows from a plan, in sentences.
#pragma once

#include <string>
#include <vector>

#include "stages/plan/plan.h"

namespace zero {

// The smallest stage that fits, and what more sharding would cost; or what would help.
std::vector<std::string> advice(const PlanOptions& options, const Plan& plan);

// What the table's numbers are, and where they are from.
std::vector<std::string> how_to_read(const PlanOptions& options, const Plan& plan);

// `gpus` times what one GPU trains on.
double tokens_per_second(const PlanOptions& options, const SimulatedRun& run, int gpus);

// Two sentences: M, and GB against GiB. They hold for formulas too.
std::string about_optimizer_bytes();
std::string about_units();

}  // namespace zero
