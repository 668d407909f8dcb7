// Matrix products on the GPU: row-major matrices of one type, by cuBLAS.
#include "common/device/cuda/gemm.h"

#include <climits>
#include <stdexcept>

#include "common/device/cuda/cuda_check.h"

namespace zero {
namespace {

cublasOperation_t cublas(GpuOp op) { return op == GpuOp::plain ? CUBLAS_OP_N : CUBLAS_OP_T; }

template <class T>
inline constexpr cudaDataType_t kCublasType = CUDA_R_32F;
template <>
inline constexpr cudaDataType_t kCublasType<__half> = CUDA_R_16F;
template <>
inline constexpr cudaDataType_t kCublasType<__nv_bfloat16> = CUDA_R_16BF;

// cuBLAS counts in int.
int leading_dimension(std::int64_t stride) {
  if (stride > INT_MAX) {
    throw std::invalid_argument("a matrix has rows of more than 2^31 - 1 elements");
  }
  return static_cast<int>(stride);
}

}  // namespace

// cuBLAS is column-major: what is (rows, columns) here lies in memory as (columns, rows) there. So
// c = op(a) op(b), (M, K) (K, N) -> (M, N), is asked for as c^T = op(b)^T op(a)^T, (N, K) (K, M) ->
// (N, M): b first, M and N exchanged, and each op as it is.
//
// cuBLAS takes any address that an element may have. How the addresses and strides are aligned
// decides how fast it is, and which algorithm it chooses, so also the order of its sums; that is
// why a tensor has the same alignment in every stage.
template <class T, class Result>
void gpu_gemm(cublasHandle_t blas, GpuOp op_a, GpuOp op_b, const Extents& extents, float alpha,
              GpuMatrix<const T> a, GpuMatrix<const T> b, float beta, GpuMatrix<Result> c) {
  const auto [M, N, K, count] = extents;
  if (M == 0 || N == 0 || count == 0) return;
  const int lda = leading_dimension(a.stride), ldb = leading_dimension(b.stride);
  const int ldc = leading_dimension(c.stride);
  constexpr cudaDataType_t type = kCublasType<T>, result = kCublasType<Result>;
  if (count == 1) {
    check(cublasGemmEx(blas, cublas(op_b), cublas(op_a), N, M, K, &alpha, b.data, type, ldb, a.data,
                       type, lda, &beta, c.data, result, ldc, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx");
  } else {
    check(
        cublasGemmStridedBatchedEx(blas, cublas(op_b), cublas(op_a), N, M, K, &alpha, b.data, type,
                                   ldb, b.step, a.data, type, lda, a.step, &beta, c.data, result,
                                   ldc, c.step, count, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx");
  }
}

template void gpu_gemm(cublasHandle_t, GpuOp, GpuOp, const Extents&, float, GpuMatrix<const float>,
                       GpuMatrix<const float>, float, GpuMatrix<float>);
template void gpu_gemm(cublasHandle_t, GpuOp, GpuOp, const Extents&, float, GpuMatrix<const __half>,
                       GpuMatrix<const __half>, float, GpuMatrix<__half>);
template void gpu_gemm(cublasHandle_t, GpuOp, GpuOp, const Extents&, float, GpuMatrix<const __half>,
                       GpuMatrix<const __half>, float, GpuMatrix<float>);
template void gpu_gemm(cublasHandle_t, GpuOp, GpuOp, const Extents&, float,
                       GpuMatrix<const __nv_bfloat16>, GpuMatrix<const __nv_bfloat16>, float,
                       GpuMatrix<__nv_bfloat16>);
template void gpu_gemm(cublasHandle_t, GpuOp, GpuOp, const Extents&, float,
                       GpuMatrix<const __nv_bfloat16>, GpuMatrix<const __nv_bfloat16>, float,
                       GpuMatrix<float>);

}  // namespace zero
