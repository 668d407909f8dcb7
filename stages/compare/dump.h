// Finds the first element in which two dumped states (--dump-state) differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zero {

// One state ("parameters", "master", "exp_avg", "exp_avg_sq") in which two runs differ.
struct DifferingElement {
  std::string state;
  std::string tensor;
  std::vector<std::int64_t> index;  // in the tensor's shape
  std::int64_t position = 0;        // in the flat vector
  int ranks[2] = {0, 0};            // who holds it, in each run
  std::string values[2];            // "0.12345 (bits 0x3dfcd35b)"
  std::int64_t count = 0;           // elements of this state that differ
};

// The first differing element of each state that differs, the lowest position first. Each copy that
// any rank of the second run holds is compared. Throws std::runtime_error when a dump is missing,
// is not of the same model, or leaves a position out.
std::vector<DifferingElement> differing_elements(const std::string& first_folder,
                                                 const std::string& second_folder);

// "h.0.attn.c_attn.weight[12, 45]"
std::string element_name(const DifferingElement& element);

}  // namespace zero
