// Whether several stages computed the same bits, and where they first did not.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stages/compare/dump.h"
#include "stages/compare/stage_runner.h"

namespace zero {

// The first value in which two stages differ.
struct ValueDifference {
  std::string stages[2];  // the first one is what the others are compared with
  int iteration = 0;      // how many iterations were run until it showed: 1 for the first
  std::string what;       // "loss", "gradient_norm", ...; "work" when nothing can be compared
  std::string values[2];
  bool state_differs = false;  // the fingerprints after that iteration differ too
};

// Loss, norm, loss scale, skipped or not, and fingerprint of every iteration. Nothing: the same.
std::optional<ValueDifference> first_difference(const StageResult& reference,
                                                const StageResult& other);

// The earliest over all stages, each compared with the first.
std::optional<ValueDifference> first_difference(const std::vector<StageResult>& results);

// Runs both stages again up to that iteration, with their states dumped, and compares these.
// Throws std::runtime_error with the reason when that cannot be done.
std::vector<DifferingElement> find_elements(const ValueDifference& difference,
                                            const StageRunner& runner,
                                            const CompareOptions& options);

// The exact value: the fewest digits that read back as the same bits, or "not finite".
std::string exact(const std::optional<double>& value);

}  // namespace zero
