// A plan for other programs: every number exact, bytes and seconds.
#pragma once

#include <nlohmann/json.hpp>

#include "stages/plan/plan.h"

namespace zero {

nlohmann::ordered_json plan_json(const PlanOptions& options, const Plan& plan);

}  // namespace zero
