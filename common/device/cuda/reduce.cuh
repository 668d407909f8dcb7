// Sums and maxima over a warp and over a block, in an order that the shape alone decides.
#pragma once

#include <cuda_runtime.h>

namespace zero {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// The sum over the 32 lanes, in every lane: neighbours first, then pairs of neighbours, ... All
// lanes must call it.
template <class Sum>
__device__ inline Sum warp_sum(Sum x) {
  for (int distance = 1; distance < kWarp; distance *= 2) {
    x += __shfl_xor_sync(kAllLanes, x, distance);
  }
  return x;
}

// The largest of the 32 lanes; a NaN is passed over.
__device__ inline float warp_max(float x) {
  for (int distance = 1; distance < kWarp; distance *= 2) {
    x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, distance));
  }
  return x;
}

// The sum over a block of whole warps, at most 32 of them, in every thread: each warp's, then those
// in order of the warps. `shared` holds 32 elements and may be used again when it returns.
template <class Sum>
__device__ inline Sum block_sum(Sum x, Sum* shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  x = warp_sum(x);
  if (lane == 0) shared[warp] = x;
  __syncthreads();
  Sum total = shared[0];
  for (int i = 1; i < warps; ++i) total += shared[i];
  __syncthreads();  // nobody writes there before all have read
  return total;
}

// The same for the largest.
__device__ inline float block_max(float x, float* shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  x = warp_max(x);
  if (lane == 0) shared[warp] = x;
  __syncthreads();
  float largest = shared[0];
  for (int i = 1; i < warps; ++i) largest = fmaxf(largest, shared[i]);
  __syncthreads();
  return largest;
}

}  // namespace zero
