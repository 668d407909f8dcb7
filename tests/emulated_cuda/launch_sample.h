// Starts a kernel of the tests; the same text for nvcc and for g++.
#pragma once

#include <cuda_runtime.h>

namespace zero {

template <class... Parameters, class... Arguments>
cudaError_t launch_sample(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
                          Arguments... arguments) {
  cudaLaunchConfig_t shape{};
  shape.gridDim = grid;
  shape.blockDim = block;
  shape.stream = stream;
  return cudaLaunchKernelEx(&shape, kernel, static_cast<Parameters>(arguments)...);
}

}  // namespace zero
