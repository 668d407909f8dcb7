// Matrix products: OpenBLAS in fp32, and 16-bit matrices converted tile by tile.
#pragma once

#include <cstdint>

#include "common/memory/dtype.h"

namespace zero {

// Row-major with `stride` elements from one row to the next; not owned. T may be const.
template <class T>
struct Matrix {
  T* data;
  std::int64_t stride;

  Matrix at(std::int64_t row, std::int64_t column) const {
    return {data + row * stride + column, stride};
  }
};

enum class Op { plain, transposed };

// c = alpha op(a) op(b) + beta c, all fp32. op(a): (M, K); op(b): (K, N); c: (M, N).
// With beta 0 what c held is not read.
void sgemm(Op op_a, Op op_b, int M, int N, int K, float alpha, Matrix<const float> a,
           Matrix<const float> b, float beta, Matrix<float> c);

// The fp32 elements of scratch that gemm() needs; 0 for T = float. Bounded by 1,310,720 (5 MiB).
template <class T>
std::int64_t gemm_scratch(int M, int N, int K);

// c = op(a) op(b) + bias, products and sums in fp32, each element rounded to T once.
// bias: (N), added to each row, or null.
template <class T>
void gemm(Op op_a, Op op_b, int M, int N, int K, Matrix<const T> a, Matrix<const T> b,
          const T* bias, Matrix<T> c, float* scratch);

// Makes BLAS calls from the calling thread run on that thread alone. May be called from several
// threads at once, but not while a BLAS call with several threads runs.
void one_blas_thread();

}  // namespace zero
