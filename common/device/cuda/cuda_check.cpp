// Errors of CUDA and cuBLAS become exceptions that name the call and the place.
#include "common/device/cuda/cuda_check.h"

#include <fmt/format.h>

#include <stdexcept>

namespace zero {

void check(cudaError_t result, const char* call, const char* file, int line) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // reported here: the next call must not report it again
  throw std::runtime_error(
      fmt::format("{} failed: {} ({}:{})", call, cudaGetErrorString(result), file, line));
}

void check(cublasStatus_t result, const char* call, const char* file, int line) {
  if (result == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(
      fmt::format("{} failed: {} ({}:{})", call, cublasGetStatusString(result), file, line));
}

}  // namespace zero
