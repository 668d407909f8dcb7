// What the card does at best, measured here and now: what the operators are held against.
#pragma once

#include <cstdint>

#include "tests/gpu/pace.h"

namespace zero {

// Bytes per second, read and written, of a copy of `bytes` from the GPU's memory to itself.
// Throws std::runtime_error, as all of this does.
double copied_bytes_per_second(std::int64_t bytes, const Pace& pace);

// Operations per second (2 n^3 in all) of cuBLAS's product of two n x n matrices of bf16 that hold
// random numbers (zeros would be faster), with sums in fp32.
double product_operations_per_second(int n, const Pace& pace);

}  // namespace zero
