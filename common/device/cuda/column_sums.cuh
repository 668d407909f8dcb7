// Sums over the rows of matrices, one per column, in an order that the shape alone decides.
//
// The rows are cut into slabs. A first kernel writes each slab's sums to `partial`, a second one
// adds those: no element has two writers, and nothing depends on which block ends first.
#pragma once

#include <algorithm>

#include "common/device/cuda/eight.cuh"
#include "common/device/cuda/launch.h"
#include "common/device/cuda/reduce.cuh"

namespace zero {

// How (R, C) is cut. Enough blocks for every large GPU, and at least four rows for each warp.
struct Slabs {
  static constexpr std::int64_t kColumns = kWarp * kEight;  // of a block
  static constexpr std::int64_t kLeastRows = 32;            // of a slab
  static constexpr std::int64_t kBlocks = 512;              // about, for a large matrix

  Slabs(std::int64_t R, std::int64_t C) : groups((C + kColumns - 1) / kColumns) {
    const std::int64_t most =
        std::max<std::int64_t>(kBlocks / std::max<std::int64_t>(groups, 1), 1);
    rows = std::max((R + most - 1) / most, kLeastRows);
    count = std::max<std::int64_t>((R + rows - 1) / rows, 1);  // without rows the sums are zero
  }

  std::int64_t groups;  // of columns
  std::int64_t rows;    // of a slab; the last may have fewer
  std::int64_t count;
};

// Bytes of `partial`: at most 512 KiB or one row of fp32, whichever is more, for each of the sums.
inline std::int64_t column_sums_bytes(int sums, std::int64_t R, std::int64_t C) {
  return sums * Slabs(R, C).count * C * static_cast<std::int64_t>(sizeof(float));
}

// Where the sums go: each (C).
template <class T, int kSums>
struct ColumnSums {
  T* to[kSums];
};

// What is summed: `kSums` terms at each position of an (R, C) matrix. A class of terms has
//   static constexpr int kSums;
//   void add(float (&sum)[kSums][kEight], std::int64_t row, std::int64_t column, int count) const;
// which adds the terms of `count` neighbouring columns of one row. This one: the matrix itself.
template <class T>
struct MatrixTerms {
  static constexpr int kSums = 1;
  const T* x;  // (R, C)
  std::int64_t C;
  bool aligned;  // every row

  __device__ void add(float (&sum)[kSums][kEight], std::int64_t row, std::int64_t column,
                      int count) const {
    float value[kEight];
    load_eight(value, x + row * C + column, count, aligned);
    for (int i = 0; i < kEight; ++i) sum[0][i] += value[i];
  }
};

// A block sums one slab of 256 columns: a thread eight columns, so that a warp reads a row of all
// 256, and the block's warps every eighth row. Then each thread adds one column of the warps' sums,
// in order of the warps.
template <class Terms>
__global__ void __launch_bounds__(kBlockSize)
    slab_sums_kernel(float* partial,  // (kSums, slabs, C)
                     Terms terms, std::int64_t R, std::int64_t C, std::int64_t slab_rows) {
  constexpr int kWarps = kBlockSize / kWarp;
  static_assert(Slabs::kColumns == kBlockSize, "one column for each thread at the end");
  __shared__ float shared[Terms::kSums][kWarps][Slabs::kColumns];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t group = std::int64_t{blockIdx.x} * Slabs::kColumns;
  const std::int64_t begin = std::int64_t{blockIdx.y} * slab_rows;
  const std::int64_t end = begin + slab_rows < R ? begin + slab_rows : R;

  float sum[Terms::kSums][kEight] = {};
  const std::int64_t column = group + lane * kEight;
  if (column < C) {
    const int count = rest_of(C, column);
    for (std::int64_t row = begin + warp; row < end; row += kWarps) {
      terms.add(sum, row, column, count);
    }
  }
  for (int s = 0; s < Terms::kSums; ++s) {
    for (int i = 0; i < kEight; ++i) shared[s][warp][lane * kEight + i] = sum[s][i];
  }
  __syncthreads();

  const std::int64_t mine = group + threadIdx.x;
  if (mine >= C) return;
  for (int s = 0; s < Terms::kSums; ++s) {
    float total = shared[s][0][threadIdx.x];
    for (int w = 1; w < kWarps; ++w) total += shared[s][w][threadIdx.x];
    partial[(std::int64_t{s} * gridDim.y + blockIdx.y) * C + mine] = total;
  }
}

// A block adds the slabs of 32 columns of one sum: a lane one column, the block's warps every
// eighth slab; the first warp then adds the warps' sums in order.
template <class T, int kSums>
__global__ void __launch_bounds__(kBlockSize)
    add_slabs_kernel(ColumnSums<T, kSums> sums,  // each (C)
                     const float* partial,       // (kSums, slabs, C)
                     std::int64_t slabs, std::int64_t C) {
  constexpr int kWarps = kBlockSize / kWarp;
  __shared__ float shared[kWarps][kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t column = std::int64_t{blockIdx.x} * kWarp + lane;
  const float* const of_slab = partial + blockIdx.y * slabs * C;  // (slabs, C)
  float sum = 0;
  if (column < C) {
    for (std::int64_t slab = warp; slab < slabs; slab += kWarps) sum += of_slab[slab * C + column];
  }
  shared[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || column >= C) return;
  float total = shared[0][lane];
  for (int w = 1; w < kWarps; ++w) total += shared[w][lane];
  sums.to[blockIdx.y][column] = from_fp32<T>(total);
}

// sums.to[s][c] = round(the sum over the rows r of the s-th term at (r, c)).
// partial: column_sums_bytes(kSums, R, C) bytes, on the device.
template <class T, int kSums, class Terms>
void column_sums(cudaStream_t stream, ColumnSums<T, kSums> sums, const Terms& terms, std::int64_t R,
                 std::int64_t C, std::byte* partial) {
  static_assert(kSums == Terms::kSums);
  if (C == 0) return;
  const Slabs slabs(R, C);
  float* const of_slabs = reinterpret_cast<float*>(partial);  // (kSums, slabs, C)
  launch(slab_sums_kernel<Terms>,
         dim3(static_cast<unsigned>(slabs.groups), static_cast<unsigned>(slabs.count)), kBlockSize,
         stream, of_slabs, terms, R, C, slabs.rows);
  launch(add_slabs_kernel<T, kSums>, dim3(blocks_for(C, kWarp), kSums), kBlockSize, stream, sums,
         of_slabs, slabs.count, C);
}

// to[c] = round(the sum over the rows of x). partial: column_sums_bytes(1, R, C) bytes.
template <class T>
void column_sums(cudaStream_t stream, T* to,  // (C)
                 const T* x,                  // (R, C)
                 std::int64_t R, std::int64_t C, std::byte* partial) {
  const MatrixTerms<T> terms{x, C, is_aligned(x) && C % kEight == 0};
  column_sums(stream, ColumnSums<T, 1>{{to}}, terms, R, C, partial);
}

}  // namespace zero
