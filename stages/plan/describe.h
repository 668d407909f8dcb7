// A plan in words and tables.
#pragma once

#include "stages/plan/page.h"
#include "stages/plan/plan.h"

namespace zero {

Page describe(const PlanOptions& options, const Plan& plan);

// Its first part, which needs no run: what is planned, for which cluster.
void describe_work(const PlanOptions& options, Page& page);

// "1 GPU", "8 GPUs".
std::string gpus_text(std::int64_t gpus);
// "1 sequence", "8 sequences".
std::string sequences_text(std::int64_t sequences);

}  // namespace zero
