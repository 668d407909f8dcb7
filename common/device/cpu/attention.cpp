// Causal multi-head self-attention, forward and backward, one head of one sequence at a time.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "common/device/check.h"
#include "common/device/cpu/cpu_device.h"
#include "common/device/cpu/gemm.h"
#include "common/device/cpu/loops.h"
#include "common/device/cpu/math.h"

namespace zero {
namespace {

// Queries that share a product. A block's queries see no key after the block, so that products of
// blocks leave out most of what lies above the diagonal.
constexpr int kBlock = 64;

// (rows, columns) of `x` in fp32: x itself, or converted into `scratch`, which moves on.
template <class T>
Matrix<const float> load(Matrix<const T> x, int rows, int columns, float*& scratch) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else {
    float* const tile = scratch;
    for (std::int64_t r = 0; r < rows; ++r) {
      as_fp32(x.data + r * x.stride, columns, tile + r * columns);
    }
    scratch += std::int64_t{rows} * columns;
    return {tile, columns};
  }
}

// Where (rows, columns) of a result are computed in fp32: `x` itself, or scratch.
template <class T>
Matrix<float> place(Matrix<T> x, int rows, int columns, float*& scratch) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else {
    float* const tile = scratch;
    scratch += std::int64_t{rows} * columns;
    return {tile, columns};
  }
}

template <class T>
void store(Matrix<T> to, Matrix<float> from, int rows, int columns) {
  if constexpr (!std::is_same_v<T, float>) {
    for (std::int64_t r = 0; r < rows; ++r) {
      map(to.data + r * to.stride, from.data + r * from.stride, columns, [](float x) { return x; });
    }
  }
}

// softmax over row[0 .. n-1], zero from n to the end.
void causal_softmax(float* row, std::int64_t n, std::int64_t end) {
  const float largest = max_of(row, n);
  for (std::int64_t i = 0; i < n; ++i) row[i] = fast_exp(row[i] - largest);
  const float factor = 1.0f / sum_of<float>(n, [&](std::int64_t i) { return row[i]; });
  for (std::int64_t i = 0; i < n; ++i) row[i] *= factor;
  std::fill(row + n, row + end, 0.0f);
}

// d(softmax) for one row: datt becomes att (datt - sum(att datt)), zero from n to the end.
void softmax_backward(float* datt, const float* att, std::int64_t n, std::int64_t end) {
  const float weighted = sum_of<float>(n, [&](std::int64_t i) { return att[i] * datt[i]; });
  for (std::int64_t i = 0; i < n; ++i) datt[i] = att[i] * (datt[i] - weighted);
  std::fill(datt + n, datt + end, 0.0f);
}

// One head of one sequence. q, k, v: (T, D) within qkv; att: (T, T); out: (T, D) within (T, C).
template <class S>
struct Head {
  Matrix<const S> q, k, v;
  int T, D;
  float scale;

  static std::int64_t forward_scratch(std::int64_t T, std::int64_t D) {
    if constexpr (std::is_same_v<S, float>) return 0;
    return 2 * T * D + kBlock * (2 * D + T);
  }
  void forward(Matrix<S> out, Matrix<S> att, float* scratch) const {
    const Matrix<const float> keys = load(k, T, D, scratch);
    const Matrix<const float> values = load(v, T, D, scratch);
    for (int t = 0; t < T; t += kBlock) {
      const int rows = std::min(kBlock, T - t);
      const int seen = t + rows;  // keys that some query of the block sees
      float* tile = scratch;
      const Matrix<const float> queries = load(q.at(t, 0), rows, D, tile);
      const Matrix<float> scores = place(att.at(t, 0), rows, T, tile);
      const Matrix<float> result = place(out.at(t, 0), rows, D, tile);
      sgemm(Op::plain, Op::transposed, rows, seen, D, scale, queries, keys, 0, scores);
      for (int r = 0; r < rows; ++r) {
        causal_softmax(scores.data + r * scores.stride, t + r + 1, T);
      }
      const Matrix<const float> weights{scores.data, scores.stride};
      sgemm(Op::plain, Op::plain, rows, D, seen, 1, weights, values, 0, result);
      store(att.at(t, 0), scores, rows, T);
      store(out.at(t, 0), result, rows, D);
    }
  }

  static std::int64_t backward_scratch(std::int64_t T, std::int64_t D) {
    if constexpr (std::is_same_v<S, float>) return kBlock * T;
    return 4 * T * D + kBlock * (3 * D + 2 * T);
  }
  // Last block first: it sees every key, so it writes all of dk and dv and the others add to them.
  void backward(Matrix<S> dq, Matrix<S> dk, Matrix<S> dv, Matrix<const S> dout, Matrix<const S> att,
                float* scratch) const {
    float* const datt_data = scratch;  // (kBlock, T)
    scratch += std::int64_t{kBlock} * T;
    const Matrix<const float> keys = load(k, T, D, scratch);
    const Matrix<const float> values = load(v, T, D, scratch);
    const Matrix<float> dkeys = place(dk, T, D, scratch);
    const Matrix<float> dvalues = place(dv, T, D, scratch);
    const int last = (T - 1) / kBlock * kBlock;
    for (int t = last; t >= 0; t -= kBlock) {
      const int rows = std::min(kBlock, T - t);
      const int seen = t + rows;
      const float beta = t == last ? 0.0f : 1.0f;
      float* tile = scratch;
      const Matrix<const float> queries = load(q.at(t, 0), rows, D, tile);
      const Matrix<const float> gradient = load(dout.at(t, 0), rows, D, tile);
      const Matrix<const float> weights = load(att.at(t, 0), rows, seen, tile);
      const Matrix<float> dqueries = place(dq.at(t, 0), rows, D, tile);
      const Matrix<float> datt{datt_data, seen};
      const Matrix<const float> dscores{datt_data, seen};

      sgemm(Op::transposed, Op::plain, seen, D, rows, 1, weights, gradient, beta, dvalues);
      sgemm(Op::plain, Op::transposed, rows, seen, D, 1, gradient, values, 0, datt);
      for (int r = 0; r < rows; ++r) {
        softmax_backward(datt.data + r * datt.stride, weights.data + r * weights.stride, t + r + 1,
                         seen);
      }
      sgemm(Op::plain, Op::plain, rows, D, seen, scale, dscores, keys, 0, dqueries);
      sgemm(Op::transposed, Op::plain, seen, D, rows, scale, dscores, queries, beta, dkeys);
      store(dq.at(t, 0), dqueries, rows, D);
    }
    store(dk, dkeys, T, D);
    store(dv, dvalues, T, D);
  }
};

}  // namespace

void CpuDevice::attention_forward(View out, View att, View qkv, int B, int T, int C, int H) {
  const OperatorSpan span(*this, "attention_forward");
  check_attention_forward(out, att, qkv, B, T, C, H);
  with_type(qkv.dtype(), [&](auto type) {
    using S = decltype(type);
    const std::int64_t D = C / H;
    const Matrix<const S> input{qkv.as<S>(), 3 * std::int64_t{C}};  // (B*T, 3*C)
    const Matrix<S> output{out.as<S>(), C};                         // (B*T, C)
    const Matrix<S> weights{att.as<S>(), T};                        // (B*H*T, T)
    use_one_blas_thread();
    const std::int64_t each = Head<S>::forward_scratch(T, D);
    float* const scratch = workspace(workers_.size() * each);
    workers_.split(std::int64_t{B} * H, 1, [&](int part, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = i / H * T, column = i % H * D;
        const Head<S> head{input.at(row, column),
                           input.at(row, C + column),
                           input.at(row, 2 * std::int64_t{C} + column),
                           T,
                           static_cast<int>(D),
                           1.0f / std::sqrt(static_cast<float>(D))};
        head.forward(output.at(row, column), weights.at(i * T, 0), scratch + part * each);
      }
    });
  });
}

void CpuDevice::attention_backward(View dqkv, View dout, View qkv, View att, int B, int T, int C,
                                   int H) {
  const OperatorSpan span(*this, "attention_backward");
  check_attention_backward(dqkv, dout, qkv, att, B, T, C, H);
  with_type(qkv.dtype(), [&](auto type) {
    using S = decltype(type);
    const std::int64_t D = C / H;
    const Matrix<S> dinput{dqkv.as<S>(), 3 * std::int64_t{C}};      // (B*T, 3*C)
    const Matrix<const S> input{qkv.as<S>(), 3 * std::int64_t{C}};  // (B*T, 3*C)
    const Matrix<const S> gradient{dout.as<S>(), C};                // (B*T, C)
    const Matrix<const S> weights{att.as<S>(), T};                  // (B*H*T, T)
    use_one_blas_thread();
    const std::int64_t each = Head<S>::backward_scratch(T, D);
    float* const scratch = workspace(workers_.size() * each);
    workers_.split(std::int64_t{B} * H, 1, [&](int part, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = i / H * T, column = i % H * D;
        const std::int64_t key = C + column, value = 2 * std::int64_t{C} + column;
        const Head<S> head{input.at(row, column), input.at(row, key),
                           input.at(row, value),  T,
                           static_cast<int>(D),   1.0f / std::sqrt(static_cast<float>(D))};
        head.backward(dinput.at(row, column), dinput.at(row, key), dinput.at(row, value),
                      gradient.at(row, column), weights.at(i * T, 0), scratch + part * each);
      }
    });
  });
}

}  // namespace zero
