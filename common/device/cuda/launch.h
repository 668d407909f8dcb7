// Starts a kernel on a stream.
#pragma once

#include <cstdint>

#include "common/device/cuda/cuda_check.h"

namespace zero {

// Threads of a block, unless a kernel says otherwise: eight warps.
inline constexpr int kBlockSize = 256;

// kernel<<<grid, block, 0, stream>>>(args...), with its arguments converted to the kernel's types
// and its errors thrown. No kernel here uses dynamic shared memory.
template <class... Params, class... Args>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, cudaStream_t stream, Args... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...), "cudaLaunchKernelEx");
}

// Blocks of `per_block` that cover n; n >= 1.
inline unsigned blocks_for(std::int64_t n, std::int64_t per_block) {
  return static_cast<unsigned>((n + per_block - 1) / per_block);
}

}  // namespace zero
