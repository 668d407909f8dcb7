// Softmax and cross-entropy of the logits, forward and backward.
#include <algorithm>
#include <cmath>
#include <vector>

#include "common/device/check.h"
#include "common/device/cuda/cuda_device.h"
#include "common/device/cuda/launch.h"
#include "common/device/cuda/numbers.cuh"
#include "common/device/cuda/reduce.cuh"

namespace zero {
namespace {

// Rows whose losses are on their way to the host at a time.
constexpr std::int64_t kRows = 1 << 14;

// A block per row; a thread takes every 256th element, eight of them at a time, so that eight
// loads are on their way. Neighbouring threads read neighbours: with an odd V (50257) a row begins
// anywhere, and 16-byte accesses would not help.
constexpr int kTogether = 8;
constexpr std::int64_t kStride = std::int64_t{kTogether} * kBlockSize;

// values[k] = row[first + k * kBlockSize]; -infinity past the end.
template <class T>
__device__ void load_strided(float (&values)[kTogether], const T* row,  // (V)
                             std::int64_t first, std::int64_t V) {
  for (int k = 0; k < kTogether; ++k) {
    const std::int64_t i = first + k * kBlockSize;
    values[k] = i < V ? to_fp32(row[i]) : -INFINITY;
  }
}

// The logarithm of the sum of exp over a row, read once: each thread keeps the largest element so
// far and the sum of exp(x - largest), which shrinks whenever a larger one comes (Milakov and
// Gimelshein 2018).
template <class T>
__global__ void __launch_bounds__(kBlockSize)
    cross_entropy_forward_kernel(float* log_sums,              // (rows)
                                 double* losses,               // (rows)
                                 const T* logits,              // (rows, V)
                                 const std::int32_t* targets,  // (rows)
                                 std::int64_t V) {
  __shared__ float shared_largest[kWarp];
  __shared__ double shared_sum[kWarp];
  const T* const row = logits + blockIdx.x * V;  // (V)
  float largest = -INFINITY;
  float sum = 0;
  for (std::int64_t first = threadIdx.x; first < V; first += kStride) {
    float x[kTogether];
    load_strided(x, row, first, V);
    float larger = largest;
    for (int k = 0; k < kTogether; ++k) larger = fmaxf(larger, x[k]);  // a NaN is passed over
    if (larger > largest) sum *= expf(largest - larger);
    largest = larger;
    for (int k = 0; k < kTogether; ++k) {
      // An element of -infinity (also one past the end) adds exp(-infinity) = 0. It is skipped,
      // since while `largest` is -infinity too their difference is NaN.
      if (x[k] != -INFINITY) sum += expf(x[k] - largest);
    }
  }
  const float row_largest = block_max(largest, shared_largest);
  const double row_sum =
      block_sum(static_cast<double>(sum * expf(largest - row_largest)), shared_sum);
  if (threadIdx.x > 0) return;
  const float log_sum = static_cast<float>(row_largest + log(row_sum));
  log_sums[blockIdx.x] = log_sum;
  losses[blockIdx.x] = static_cast<double>(log_sum) - to_fp32(row[targets[blockIdx.x]]);
}

// dlogits = (exp(logits - log_sum) - onehot(target)) factor: a block writes one row, a thread every
// 256th element of it.
template <class T>
__global__ void __launch_bounds__(kBlockSize)
    cross_entropy_backward_kernel(T* dlogits,                   // (R, V); may be logits
                                  const T* logits,              // (R, V)
                                  const float* log_sums,        // (R)
                                  const std::int32_t* targets,  // (R)
                                  float factor, std::int64_t V) {
  const T* const from = logits + blockIdx.x * V;  // (V)
  T* const to = dlogits + blockIdx.x * V;         // (V)
  const float log_sum = log_sums[blockIdx.x];
  const std::int32_t target = targets[blockIdx.x];
  for (std::int64_t first = threadIdx.x; first < V; first += kStride) {
    float x[kTogether];
    load_strided(x, from, first, V);
    for (int k = 0; k < kTogether; ++k) {
      const std::int64_t i = first + k * kBlockSize;
      const float onehot = i == target ? 1.0f : 0.0f;
      if (i < V) to[i] = from_fp32<T>((expf(x[k] - log_sum) - onehot) * factor);
    }
  }
}

}  // namespace

// Workspace: one fp64 for each of kRows rows, 128 KiB.
double CudaDevice::cross_entropy_forward(View logits, View log_sum, View targets, int R, int V) {
  const OperatorSpan span(*this, "cross_entropy_forward");
  check_cross_entropy_forward(logits, log_sum, targets, R, V);
  const std::int32_t* const target = pointer<std::int32_t>(targets);  // (R)
  float* const log_sums = pointer<float>(log_sum);                    // (R)
  check_ids_on_device("cross_entropy_forward", targets, V);
  double loss = 0;
  with_gpu_type(logits.dtype(), [&](auto type) {
    using T = decltype(type);
    const T* const rows = pointer<T>(logits);  // (R, V)
    std::vector<double> of_rows;
    for (std::int64_t from = 0; from < R; from += kRows) {
      of_rows.resize(static_cast<std::size_t>(std::min(kRows, R - from)));
      const auto bytes = std::as_writable_bytes(std::span(of_rows));
      double* const losses = reinterpret_cast<double*>(workspace(std::ssize(bytes)));  // (rows)
      launch(cross_entropy_forward_kernel<T>, blocks_for(std::ssize(of_rows), 1), kBlockSize,
             stream_, log_sums + from, losses, rows + from * V, target + from, V);
      download(workspace_.view().first(std::ssize(bytes) / 4), bytes);
      for (const double row_loss : of_rows) loss += row_loss;
    }
  });
  return loss;
}

void CudaDevice::cross_entropy_backward(View dlogits, View logits, View log_sum, View targets,
                                        float factor, int R, int V) {
  const OperatorSpan span(*this, "cross_entropy_backward");
  check_cross_entropy_backward(dlogits, logits, log_sum, targets, R, V);
  const std::int32_t* const target = pointer<std::int32_t>(targets);  // (R)
  const float* const log_sums = pointer<float>(log_sum);              // (R)
  check_ids_on_device("cross_entropy_backward", targets, V);
  if (R == 0) return;
  with_gpu_type(logits.dtype(), [&](auto type) {
    using T = decltype(type);
    launch(cross_entropy_backward_kernel<T>, blocks_for(R, 1), kBlockSize, stream_,
           pointer<T>(dlogits), pointer<T>(logits), log_sums, target, factor, V);
  });
}

}  // namespace zero
