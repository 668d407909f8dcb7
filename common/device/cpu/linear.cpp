// Linear layers: out = x W^T + bias, and its three gradients.
#include <algorithm>

#include "common/device/check.h"
#include "common/device/cpu/cpu_device.h"
#include "common/device/cpu/gemm.h"

namespace zero {
namespace {

// op(a) op(b) + bias, with the rows or the columns of the result shared among the workers.
template <class T>
void shared_gemm(Workers& workers, float* scratch, std::int64_t scratch_each, Op op_a, Op op_b,
                 int M, int N, int K, Matrix<const T> a, Matrix<const T> b, const T* bias,
                 Matrix<T> c) {
  constexpr std::int64_t kGrain = 32;
  const auto offset = [](Op op, std::int64_t row, std::int64_t column) {
    return op == Op::plain ? std::pair(row, column) : std::pair(column, row);
  };
  if (M >= N) {
    workers.split(M, kGrain, [&](int part, std::int64_t begin, std::int64_t end) {
      const auto [row, column] = offset(op_a, begin, 0);
      gemm(op_a, op_b, static_cast<int>(end - begin), N, K, a.at(row, column), b, bias,
           c.at(begin, 0), scratch + part * scratch_each);
    });
  } else {
    workers.split(N, kGrain, [&](int part, std::int64_t begin, std::int64_t end) {
      const auto [row, column] = offset(op_b, 0, begin);
      gemm(op_a, op_b, M, static_cast<int>(end - begin), K, a, b.at(row, column),
           bias ? bias + begin : nullptr, c.at(0, begin), scratch + part * scratch_each);
    });
  }
}

// dbias = the sum of dout over the rows, in order of the rows.
template <class T>
void sum_rows(T* dbias,       // (O)
              const T* dout,  // (R, O)
              std::int64_t R, std::int64_t O) {
  constexpr std::int64_t kColumns = 512;
  float sum[kColumns];
  for (std::int64_t from = 0; from < O; from += kColumns) {
    const std::int64_t n = std::min(kColumns, O - from);
    std::fill_n(sum, n, 0.0f);
    for (std::int64_t r = 0; r < R; ++r) {
      const T* const row = dout + r * O + from;
      for (std::int64_t i = 0; i < n; ++i) sum[i] += widen(row[i]);
    }
    for (std::int64_t i = 0; i < n; ++i) dbias[from + i] = narrow<T>(sum[i]);
  }
}

}  // namespace

void CpuDevice::linear_forward(View out, View x, View weight, View bias, int R, int I, int O) {
  const OperatorSpan span(*this, "linear_forward");
  check_linear_forward(out, x, weight, bias, R, I, O);
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const Matrix<const T> input{x.as<T>(), I};                         // (R, I)
    const Matrix<const T> weights{weight.as<T>(), I};                  // (O, I)
    const T* const biases = bias.size() > 0 ? bias.as<T>() : nullptr;  // (O)
    const Matrix<T> output{out.as<T>(), O};                            // (R, O)
    use_one_blas_thread();
    const std::int64_t each = gemm_scratch<T>(R, O, I);
    shared_gemm(workers_, workspace(workers_.size() * each), each, Op::plain, Op::transposed, R, O,
                I, input, weights, biases, output);
  });
}

void CpuDevice::linear_backward(View dx, View dweight, View dbias, View dout, View x, View weight,
                                int R, int I, int O) {
  const OperatorSpan span(*this, "linear_backward");
  check_linear_backward(dx, dweight, dbias, dout, x, weight, R, I, O);
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const Matrix<const T> gradient{dout.as<T>(), O};                // (R, O)
    const Matrix<const T> input{x.as<T>(), I};                      // (R, I)
    const Matrix<const T> weights{weight.as<T>(), I};               // (O, I)
    const Matrix<T> dinput{dx.as<T>(), I};                          // (R, I)
    const Matrix<T> dweights{dweight.as<T>(), I};                   // (O, I)
    T* const dbiases = dbias.size() > 0 ? dbias.as<T>() : nullptr;  // (O)
    use_one_blas_thread();
    const std::int64_t each = std::max(gemm_scratch<T>(R, I, O), gemm_scratch<T>(O, I, R));
    float* const scratch = workspace(workers_.size() * each);
    shared_gemm<T>(workers_, scratch, each, Op::plain, Op::plain, R, I, O, gradient, weights,
                   nullptr, dinput);
    shared_gemm<T>(workers_, scratch, each, Op::transposed, Op::plain, O, I, R, gradient, input,
                   nullptr, dweights);
    if (dbiases != nullptr) sum_rows(dbiases, gradient.data, R, O);
  });
}

}  // namespace zero
