// Matrix products on the GPU: row-major matrices of one type, by cuBLAS.
#pragma once

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace zero {

// Row-major, `stride` elements from one row to the next; not owned. In a batch the next matrix of
// the same kind begins `step` elements later. T may be const.
template <class T>
struct GpuMatrix {
  T* data;
  std::int64_t stride;
  std::int64_t step = 0;
};

enum class GpuOp { plain, transposed };

// The extents of a product and how many of them there are.
struct Extents {
  int M, N, K;
  int count = 1;
};

// c = alpha op(a) op(b) + beta c.   op(a): (M, K); op(b): (K, N); c: (M, N), `count` times.
// Products and sums in fp32, rounded to c's type once. With beta 0 what c held is not read.
// T is float, __half or __nv_bfloat16, and Result is T or float. K is at least 1. Throws
// std::runtime_error when cuBLAS fails, std::invalid_argument for a stride that is larger than
// cuBLAS can say.
template <class T, class Result>
void gpu_gemm(cublasHandle_t blas, GpuOp op_a, GpuOp op_b, const Extents& extents, float alpha,
              GpuMatrix<const T> a, GpuMatrix<const T> b, float beta, GpuMatrix<Result> c);

}  // namespace zero
