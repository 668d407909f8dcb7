// The inner loops of a matrix product, on packed copies. Compiled without sanitizers, for speed:
// every element of a caller's matrix is read and written in cublas.cpp, which has them.
#include "matmul.h"

namespace zero::emulator {

void multiply_tile(std::size_t k, const float* __restrict a, const float* __restrict b,
                   float* __restrict sums) {
  constexpr std::size_t kStrip = 16;  // columns of `sums` that stay in registers
  for (std::size_t strip = 0; strip < kTileRows; strip += kStrip) {
    float sum[kTileColumns][kStrip] = {};
    for (std::size_t l = 0; l < k; ++l) {
      const float* of_a = a + l * kTileRows + strip;
      const float* of_b = b + l * kTileColumns;
      for (std::size_t j = 0; j < kTileColumns; ++j) {
        for (std::size_t i = 0; i < kStrip; ++i) sum[j][i] += of_a[i] * of_b[j];
      }
    }
    for (std::size_t j = 0; j < kTileColumns; ++j) {
      for (std::size_t i = 0; i < kStrip; ++i) sums[j * kTileRows + strip + i] = sum[j][i];
    }
  }
}

}  // namespace zero::emulator
