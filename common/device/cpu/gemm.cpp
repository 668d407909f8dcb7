// Matrix products: OpenBLAS in fp32, and 16-bit matrices converted tile by tile.
#include "common/device/cpu/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <mutex>
#include <type_traits>

namespace zero {
namespace {

// A tile is large enough that converting it (tile_m * tile_k elements) costs little beside the
// product (tile_m * tile_n * tile_k), and small enough to stay in the second- and third-level
// cache.
constexpr int kTileM = 512;
constexpr int kTileN = 512;
constexpr int kTileK = 1024;

CBLAS_TRANSPOSE cblas(Op op) { return op == Op::plain ? CblasNoTrans : CblasTrans; }

// The part of op(x) from (row, column) on, as it is stored.
template <class T>
Matrix<const T> part(Op op, Matrix<const T> x, int row, int column) {
  return op == Op::plain ? x.at(row, column) : x.at(column, row);
}

// Converts the first (rows, columns) of op(x) into fp32, as stored and without gaps.
template <class T>
Matrix<const float> convert(Op op, Matrix<const T> x, int rows, int columns, float* scratch) {
  if (op == Op::transposed) std::swap(rows, columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* const from = x.data + r * x.stride;  // (columns)
    float* const to = scratch + r * columns;      // (columns)
    for (std::int64_t i = 0; i < columns; ++i) to[i] = widen(from[i]);
  }
  return {scratch, columns};
}

template <class T>
void fill_rows(Matrix<float> c, int M, int N, const T* bias) {  // bias: (N) or null
  for (std::int64_t m = 0; m < M; ++m) {
    float* const row = c.data + m * c.stride;  // (N)
    if (bias == nullptr) {
      std::fill_n(row, N, 0.0f);
    } else {
      for (std::int64_t n = 0; n < N; ++n) row[n] = widen(bias[n]);
    }
  }
}

template <class T>
void gemm_by_tiles(Op op_a, Op op_b, int M, int N, int K, Matrix<const T> a, Matrix<const T> b,
                   const T* bias, Matrix<T> c, float* scratch) {
  float* const scratch_a = scratch;
  float* const scratch_b = scratch_a + std::int64_t{std::min(M, kTileM)} * std::min(K, kTileK);
  float* const scratch_c = scratch_b + std::int64_t{std::min(N, kTileN)} * std::min(K, kTileK);
  for (int m = 0; m < M; m += kTileM) {
    const int rows = std::min(kTileM, M - m);
    Matrix<const float> tile_a{};
    for (int n = 0; n < N; n += kTileN) {
      const int columns = std::min(kTileN, N - n);
      const Matrix<float> tile_c{scratch_c, columns};
      fill_rows(tile_c, rows, columns, bias ? bias + n : nullptr);
      for (int k = 0; k < K; k += kTileK) {
        const int depth = std::min(kTileK, K - k);
        // When K fits into one tile, a's tile serves all columns.
        if (n == 0 || K > kTileK) {
          tile_a = convert(op_a, part(op_a, a, m, k), rows, depth, scratch_a);
        }
        const auto tile_b = convert(op_b, part(op_b, b, k, n), depth, columns, scratch_b);
        sgemm(op_a, op_b, rows, columns, depth, 1, tile_a, tile_b, 1, tile_c);
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        T* const to = c.data + (m + r) * c.stride + n;  // (columns)
        const float* const from = scratch_c + r * columns;
        for (std::int64_t i = 0; i < columns; ++i) to[i] = narrow<T>(from[i]);
      }
    }
  }
}

}  // namespace

void sgemm(Op op_a, Op op_b, int M, int N, int K, float alpha, Matrix<const float> a,
           Matrix<const float> b, float beta, Matrix<float> c) {
  cblas_sgemm(CblasRowMajor, cblas(op_a), cblas(op_b), M, N, K, alpha, a.data,
              static_cast<blasint>(a.stride), b.data, static_cast<blasint>(b.stride), beta, c.data,
              static_cast<blasint>(c.stride));
}

template <class T>
std::int64_t gemm_scratch(int M, int N, int K) {
  if constexpr (std::is_same_v<T, float>) {
    return 0;
  } else {
    const std::int64_t m = std::min(M, kTileM), n = std::min(N, kTileN), k = std::min(K, kTileK);
    return m * k + n * k + m * n;
  }
}

template <class T>
void gemm(Op op_a, Op op_b, int M, int N, int K, Matrix<const T> a, Matrix<const T> b,
          const T* bias, Matrix<T> c, float* scratch) {
  if (M == 0 || N == 0) return;
  if constexpr (std::is_same_v<T, float>) {
    if (bias != nullptr) fill_rows(c, M, N, bias);
    sgemm(op_a, op_b, M, N, K, 1, a, b, bias ? 1.0f : 0.0f, c);
  } else {
    gemm_by_tiles(op_a, op_b, M, N, K, a, b, bias, c, scratch);
  }
}

void one_blas_thread() {
  // OpenBLAS's number of threads is one setting of the process (and, when it is built with OpenMP,
  // of the calling thread too), and setting it is not thread-safe.
  static std::mutex setting;
  const std::lock_guard lock(setting);
  openblas_set_num_threads(1);
}

template std::int64_t gemm_scratch<float>(int, int, int);
template std::int64_t gemm_scratch<Fp16>(int, int, int);
template std::int64_t gemm_scratch<Bf16>(int, int, int);
template void gemm(Op, Op, int, int, int, Matrix<const float>, Matrix<const float>, const float*,
                   Matrix<float>, float*);
template void gemm(Op, Op, int, int, int, Matrix<const Fp16>, Matrix<const Fp16>, const Fp16*,
                   Matrix<Fp16>, float*);
template void gemm(Op, Op, int, int, int, Matrix<const Bf16>, Matrix<const Bf16>, const Bf16*,
                   Matrix<Bf16>, float*);

}  // namespace zero
