// Kernels that compute each element from the same element of one or two others. Each thread takes
// eight neighbours.
#pragma once

#include "common/device/cuda/eight.cuh"
#include "common/device/cuda/launch.h"

namespace zero {

// The first element of this thread's eight, counted over the whole grid.
__device__ inline std::int64_t first_of_eight() {
  return (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kEight;
}

// to[i] = round(f(a[i])). `to` may be `a`.
template <class To, class A, class F>
__global__ void __launch_bounds__(kBlockSize) map_kernel(To* to,      // (n)
                                                         const A* a,  // (n)
                                                         std::int64_t n, bool aligned, F f) {
  const std::int64_t first = first_of_eight();
  if (first >= n) return;
  const int count = rest_of(n, first);
  float x[kEight];
  load_eight(x, a + first, count, aligned);
  for (int i = 0; i < kEight; ++i) x[i] = f(x[i]);
  store_eight(to + first, x, count, aligned);
}

// to[i] = round(f(a[i], b[i])). `to` may be `a` or `b`.
template <class To, class A, class B, class F>
__global__ void __launch_bounds__(kBlockSize) map_two_kernel(To* to,      // (n)
                                                             const A* a,  // (n)
                                                             const B* b,  // (n)
                                                             std::int64_t n, bool aligned, F f) {
  const std::int64_t first = first_of_eight();
  if (first >= n) return;
  const int count = rest_of(n, first);
  float x[kEight], y[kEight];
  load_eight(x, a + first, count, aligned);
  load_eight(y, b + first, count, aligned);
  for (int i = 0; i < kEight; ++i) x[i] = f(x[i], y[i]);
  store_eight(to + first, x, count, aligned);
}

template <class To, class A, class F>
void map(cudaStream_t stream, To* to, const A* a, std::int64_t n, F f) {
  if (n == 0) return;
  launch(map_kernel<To, A, F>, blocks_for(n, kBlockSize * kEight), kBlockSize, stream, to, a, n,
         is_aligned(to) && is_aligned(a), f);
}

template <class To, class A, class B, class F>
void map(cudaStream_t stream, To* to, const A* a, const B* b, std::int64_t n, F f) {
  if (n == 0) return;
  launch(map_two_kernel<To, A, B, F>, blocks_for(n, kBlockSize * kEight), kBlockSize, stream, to, a,
         b, n, is_aligned(to) && is_aligned(a) && is_aligned(b), f);
}

}  // namespace zero
