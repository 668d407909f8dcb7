// The GPUs that the kernels were built for: what nvcc was told, and so only nvcc knows.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>

#include "common/device/cuda/architectures.h"

namespace zero {

int lowest_architecture() {
  constexpr std::array kBuilt = {__CUDA_ARCH_LIST__};
  return *std::min_element(kBuilt.begin(), kBuilt.end());
}

}  // namespace zero
