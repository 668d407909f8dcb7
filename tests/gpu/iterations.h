// Milliseconds per iteration of a whole stage program on a GPU, beside the same step in PyTorch.
#pragma once

#include <string>
#include <vector>

#include "tests/benchmark/stages.h"

namespace zero {

struct IterationsTable {
  Shape shape;               // its batch is set to each of `batches`
  std::vector<int> batches;  // sequences of the one rank
  std::string stage;         // the program
  std::string python;        // one that has PyTorch; empty: no comparison
  std::string script;        // tests/benchmark/pytorch_step.py
};

// bf16, forward, backward and update, one rank. Prints each line as soon as it is measured; a
// program that fails has its reason there. Returns whether the stage itself ran.
bool print_iterations(const IterationsTable& table);

}  // namespace zero
