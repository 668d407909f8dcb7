// The product of two packed tiles.
#pragma once

#include <cstddef>

namespace zero::emulator {

inline constexpr std::size_t kStrip = 16;  // rows that are summed at a time
inline constexpr std::size_t kTileRows = 8 * kStrip;
inline constexpr std::size_t kTileColumns = 4;

// sums[j][i] = the sum over l = 0, 1, ..., k-1, in this order, of a[l][i] * b[l][j], for all i <
// rows and j < kTileColumns. `rows` is a multiple of kStrip.
void multiply_tile(std::size_t k, std::size_t rows,  //
                   const float* a,                   // (k, rows)
                   const float* b,                   // (k, kTileColumns)
                   float* sums);                     // (kTileColumns, rows)

}  // namespace zero::emulator
