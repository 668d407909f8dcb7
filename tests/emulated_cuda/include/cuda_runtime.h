// What a .cu file includes: the host's calls, and the words of device code as plain C++.
#pragma once

#include "cuda_runtime_api.h"
#include "emulated_barriers.h"
#include "emulated_launch.h"
#include "emulated_math.h"

// Words that only tell nvcc where code runs.
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) alignas(bytes)

// What nvcc compiles for, when nothing else is asked for: compute capability 8.0 and 9.0.
#define __CUDA_ARCH_LIST__ 800, 900

// Shared by the threads of a block: a block never leaves the thread of the host that runs it.
#define __shared__ static thread_local

inline constexpr int warpSize = 32;
inline thread_local constinit uint3 threadIdx{};
inline thread_local constinit uint3 blockIdx{};
inline thread_local constinit dim3 blockDim{};
inline thread_local constinit dim3 gridDim{};

template <class T>
T __ldg(const T* address) {
  return *address;
}

// As in the toolkit, so that no cast is needed.
template <class T>
cudaError_t cudaMalloc(T** address, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(address), bytes);
}
template <class T>
cudaError_t cudaMallocAsync(T** address, std::size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(reinterpret_cast<void**>(address), bytes, stream);
}
template <class T>
cudaError_t cudaMallocHost(T** address, std::size_t bytes) {
  return cudaMallocHost(reinterpret_cast<void**>(address), bytes);
}
