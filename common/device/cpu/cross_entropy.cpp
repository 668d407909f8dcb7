// Softmax and cross-entropy of the logits, forward and backward.
#include <algorithm>
#include <cmath>

#include "common/device/check.h"
#include "common/device/cpu/cpu_device.h"
#include "common/device/cpu/loops.h"
#include "common/device/cpu/math.h"

namespace zero {
namespace {

// A row is read in pieces that stay in the first-level cache while they are converted.
constexpr std::int64_t kPiece = 1024;

template <class T>
float max_of_row(const T* logits, std::int64_t V) {  // (V)
  float piece[kPiece];
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t from = 0; from < V; from += kPiece) {
    const std::int64_t n = std::min(kPiece, V - from);
    largest = std::max(largest, max_of(as_fp32(logits + from, n, piece), n));
  }
  return largest;
}

// The sum of exp(logits - largest): fp32 within a piece, fp64 over the pieces.
template <class T>
double sum_of_row(const T* logits, std::int64_t V, float largest) {  // (V)
  float piece[kPiece];
  double sum = 0;
  for (std::int64_t from = 0; from < V; from += kPiece) {
    const std::int64_t n = std::min(kPiece, V - from);
    for (std::int64_t i = 0; i < n; ++i) piece[i] = fast_exp(widen(logits[from + i]) - largest);
    sum += sum_of<float>(n, [&](std::int64_t i) { return piece[i]; });
  }
  return sum;
}

}  // namespace

double CpuDevice::cross_entropy_forward(View logits, View log_sum, View targets, int R, int V) {
  const OperatorSpan span(*this, "cross_entropy_forward");
  check_cross_entropy_forward(logits, log_sum, targets, R, V);
  const std::int32_t* const target = targets.as<std::int32_t>();  // (R)
  check_ids("cross_entropy_forward", target, R, V);
  float* const log_sums = log_sum.as<float>();  // (R)
  double loss = 0;
  with_type(logits.dtype(), [&](auto type) {
    using T = decltype(type);
    const T* const rows = logits.as<T>();  // (R, V)
    workers_.split(R, 1, [&](int, std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const float largest = max_of_row(rows + r * V, V);
        log_sums[r] = static_cast<float>(largest + std::log(sum_of_row(rows + r * V, V, largest)));
      }
    });
    for (std::int64_t r = 0; r < R; ++r) {
      loss += static_cast<double>(log_sums[r]) - widen(rows[r * V + target[r]]);
    }
  });
  return loss;
}

void CpuDevice::cross_entropy_backward(View dlogits, View logits, View log_sum, View targets,
                                       float factor, int R, int V) {
  const OperatorSpan span(*this, "cross_entropy_backward");
  check_cross_entropy_backward(dlogits, logits, log_sum, targets, R, V);
  const std::int32_t* const target = targets.as<std::int32_t>();  // (R)
  check_ids("cross_entropy_backward", target, R, V);
  const float* const log_sums = log_sum.as<float>();  // (R)
  with_type(logits.dtype(), [&](auto type) {
    using T = decltype(type);
    T* const to = dlogits.as<T>();         // (R, V)
    const T* const rows = logits.as<T>();  // (R, V)
    workers_.split(R, 1, [&](int, std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const float row_log_sum = log_sums[r];
        const float at_target = widen(rows[r * V + target[r]]);
        map(to + r * V, rows + r * V, V,
            [=](float x) { return fast_exp(x - row_log_sum) * factor; });
        to[r * V + target[r]] = narrow<T>((fast_exp(at_target - row_log_sum) - 1) * factor);
      }
    });
  });
}

}  // namespace zero
