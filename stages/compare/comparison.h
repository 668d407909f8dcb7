// The comparison of stages as text: one table, what it means, and the verdict.
#pragma once

#include <string>
#include <vector>

#include "stages/compare/stage_result.h"

namespace zero {

// All results are of the same work (ranks, type, parameters); at least one. Lines are at most
// `width` characters.
std::string comparison_table(const std::vector<StageResult>& results, int width);

// A few plain sentences, one per paragraph, each made from the measured numbers.
std::string what_it_means(const std::vector<StageResult>& results, int width);

// Empty, or what must not be overlooked: skipped iterations, and above all a run without any other.
std::string skipped_iterations(const std::vector<StageResult>& results, int width);

}  // namespace zero
