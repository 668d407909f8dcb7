// The product of two packed tiles.
#pragma once

#include <cstddef>

namespace zero::emulator {

inline constexpr std::size_t kTileRows = 128;
inline constexpr std::size_t kTileColumns = 4;

// sums[j][i] = the sum over l = 0, 1, ..., k-1, in this order, of a[l][i] * b[l][j], for all
// i < kTileRows and j < kTileColumns.
void multiply_tile(std::size_t k, const float* a,  // (k, kTileRows)
                   const float* b,                 // (k, kTileColumns)
                   float* sums);                   // (kTileColumns, kTileRows)

}  // namespace zero::emulator
