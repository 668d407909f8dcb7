// Model states by the formulas alone: tables 1 and 2 and figure 1 of the ZeRO paper.
#pragma once

#include <nlohmann/json.hpp>

#include "stages/plan/options.h"
#include "stages/plan/page.h"

namespace zero {

// The numbers of parameters that the tables are about: those asked for, or the model's.
std::vector<std::int64_t> planned_parameters(const PlanOptions& options);

// For PlanOptions::formulas_only().
Page describe_states(const PlanOptions& options);
nlohmann::ordered_json states_json(const PlanOptions& options);

}  // namespace zero
