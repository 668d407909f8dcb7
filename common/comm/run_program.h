// A rank's program, and what it says when it fails.
#pragma once

#include "common/comm/world.h"

namespace zero {

// Runs `program`; whether it returned. What it throws is printed to standard error, after the name
// of the rank; an empty message is not.
bool run_program(Transport& transport, const RankProgram& program);

}  // namespace zero
