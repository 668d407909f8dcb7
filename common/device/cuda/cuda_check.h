// Errors of CUDA and cuBLAS become exceptions that name the call and the place.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace zero {

// Throws std::runtime_error, "cudaMemcpyAsync failed: invalid argument (file:line)", unless
// `result` is a success. The place is the caller's.
void check(cudaError_t result, const char* call, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());
void check(cublasStatus_t result, const char* call, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());

}  // namespace zero
