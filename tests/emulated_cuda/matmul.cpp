// The inner loops of a matrix product, on packed copies. Compiled without sanitizers, for speed:
// every element of a caller's matrix is read and written in cublas.cpp, which has them.
#include "matmul.h"

#include <cstring>

namespace zero::emulator {
namespace {

// So many floats at once, in registers; g++ and clang++ know such types on any processor.
using Strip = float __attribute__((vector_size(kStrip * sizeof(float))));

}  // namespace

void multiply_tile(std::size_t k, std::size_t rows, const float* a, const float* b, float* sums) {
  for (std::size_t i = 0; i < rows; i += kStrip) {
    Strip sum[kTileColumns] = {};
    for (std::size_t l = 0; l < k; ++l) {
      Strip of_a;
      std::memcpy(&of_a, a + l * rows + i, sizeof of_a);
      for (std::size_t j = 0; j < kTileColumns; ++j) sum[j] += of_a * b[l * kTileColumns + j];
    }
    for (std::size_t j = 0; j < kTileColumns; ++j) {
      std::memcpy(sums + j * rows + i, &sum[j], sizeof sum[j]);
    }
  }
}

}  // namespace zero::emulator
