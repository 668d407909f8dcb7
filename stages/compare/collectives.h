// Shows which collectives give the same bits: ring, direct and library, on 2, 3 and 4 ranks.
#pragma once

#include <nlohmann/json.hpp>

#include "stages/compare/stage_runner.h"

namespace zero {

// Runs the first of the chosen stages with each collective and prints a table. On the CPU `library`
// needs processes: with the launcher that was given, else with mpirun where there is one; on GPUs
// it needs one for each rank. Otherwise it is "not available". Returns the exit status; `json` gets
// what was found.
int show_collectives(const CompareOptions& options, const ProcessRunner& processes,
                     const StageRunner& runner, nlohmann::ordered_json& json);

}  // namespace zero
