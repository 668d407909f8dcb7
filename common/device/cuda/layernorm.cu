// Layer normalisation over the channels of each row, forward and backward.
#include "common/device/check.h"
#include "common/device/cuda/column_sums.cuh"
#include "common/device/cuda/cuda_device.h"

namespace zero {
namespace {

constexpr float kEpsilon = 1e-5f;
constexpr int kWarps = kBlockSize / kWarp;
constexpr int kWarpColumns = kWarp * kEight;  // channels that a warp handles at a time

// The kernels over rows: a warp per row, a lane eight channels of each 256. The sums of a row need
// no barrier then, only shuffles. A row is read from memory once; its second and third reading
// find it in the cache, whatever C is.
__device__ std::int64_t row_of_warp() {
  return std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
}

__device__ int first_column() { return static_cast<int>(threadIdx.x) % kWarp * kEight; }

template <class T>
__global__ void __launch_bounds__(kBlockSize)
    layernorm_forward_kernel(T* out,           // (R, C)
                             float* means,     // (R)
                             float* rstds,     // (R)
                             const T* x,       // (R, C)
                             const T* weight,  // (C)
                             const T* bias,    // (C)
                             std::int64_t R, std::int64_t C, bool aligned) {
  const std::int64_t row = row_of_warp();
  if (row >= R) return;
  const T* const from = x + row * C;  // (C)
  T* const to = out + row * C;        // (C)

  float sum = 0;
  for (std::int64_t column = first_column(); column < C; column += kWarpColumns) {
    float value[kEight];
    load_eight(value, from + column, rest_of(C, column), aligned);
    for (int i = 0; i < kEight; ++i) sum += value[i];  // what is not there is zero
  }
  const float mean = warp_sum(sum) / C;

  float squares = 0;
  for (std::int64_t column = first_column(); column < C; column += kWarpColumns) {
    const int count = rest_of(C, column);
    float value[kEight];
    load_eight(value, from + column, count, aligned);
    for (int i = 0; i < kEight; ++i) {
      if (i < count) squares += (value[i] - mean) * (value[i] - mean);
    }
  }
  const float rstd = 1.0f / sqrtf(warp_sum(squares) / C + kEpsilon);

  for (std::int64_t column = first_column(); column < C; column += kWarpColumns) {
    const int count = rest_of(C, column);
    float value[kEight], w[kEight], b[kEight];
    load_eight(value, from + column, count, aligned);
    load_eight(w, weight + column, count, aligned);
    load_eight(b, bias + column, count, aligned);
    for (int i = 0; i < kEight; ++i) value[i] = (value[i] - mean) * rstd * w[i] + b[i];
    store_eight(to + column, value, count, aligned);
  }
  if (first_column() == 0) {
    means[row] = mean;
    rstds[row] = rstd;
  }
}

// With n = (x - mean) rstd and d = weight dout: dx += rstd (d - mean(d) - n mean(d n)).
template <class T>
__global__ void __launch_bounds__(kBlockSize)
    layernorm_dx_kernel(T* dx,               // (R, C)
                        const T* dout,       // (R, C)
                        const T* x,          // (R, C)
                        const float* means,  // (R)
                        const float* rstds,  // (R)
                        const T* weight,     // (C)
                        std::int64_t R, std::int64_t C, bool aligned) {
  const std::int64_t row = row_of_warp();
  if (row >= R) return;
  const T* const gradient = dout + row * C;  // (C)
  const T* const from = x + row * C;         // (C)
  T* const to = dx + row * C;                // (C)
  const float mean = means[row], rstd = rstds[row];

  float sum_d = 0, sum_dn = 0;
  for (std::int64_t column = first_column(); column < C; column += kWarpColumns) {
    const int count = rest_of(C, column);
    float dy[kEight], value[kEight], w[kEight];
    load_eight(dy, gradient + column, count, aligned);
    load_eight(value, from + column, count, aligned);
    load_eight(w, weight + column, count, aligned);
    for (int i = 0; i < kEight; ++i) {
      if (i >= count) break;
      sum_d += w[i] * dy[i];
      sum_dn += w[i] * dy[i] * ((value[i] - mean) * rstd);
    }
  }
  const float mean_d = warp_sum(sum_d) / C;
  const float mean_dn = warp_sum(sum_dn) / C;

  for (std::int64_t column = first_column(); column < C; column += kWarpColumns) {
    const int count = rest_of(C, column);
    float dy[kEight], value[kEight], w[kEight], sum[kEight];
    load_eight(dy, gradient + column, count, aligned);
    load_eight(value, from + column, count, aligned);
    load_eight(w, weight + column, count, aligned);
    load_eight(sum, to + column, count, aligned);
    for (int i = 0; i < kEight; ++i) {
      const float n = (value[i] - mean) * rstd;
      sum[i] += rstd * (w[i] * dy[i] - mean_d - n * mean_dn);
    }
    store_eight(to + column, sum, count, aligned);
  }
}

// What is summed over the rows: dout n for dweight, dout for dbias.
template <class T>
struct WeightAndBias {
  static constexpr int kSums = 2;
  const T* dout;       // (R, C)
  const T* x;          // (R, C)
  const float* means;  // (R)
  const float* rstds;  // (R)
  std::int64_t C;
  bool aligned;

  __device__ void add(float (&sum)[kSums][kEight], std::int64_t row, std::int64_t column,
                      int count) const {
    const float mean = means[row], rstd = rstds[row];
    float dy[kEight], value[kEight];
    load_eight(dy, dout + row * C + column, count, aligned);
    load_eight(value, x + row * C + column, count, aligned);
    for (int i = 0; i < kEight; ++i) {
      sum[0][i] += dy[i] * ((value[i] - mean) * rstd);
      sum[1][i] += dy[i];
    }
  }
};

}  // namespace

void CudaDevice::layernorm_forward(View out, View mean, View rstd, View x, View weight, View bias,
                                   int R, int C) {
  const OperatorSpan span(*this, "layernorm_forward");
  check_layernorm_forward(out, mean, rstd, x, weight, bias, R, C);
  with_gpu_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    T* const to = pointer<T>(out);              // (R, C)
    const T* const from = pointer<T>(x);        // (R, C)
    float* const means = pointer<float>(mean);  // (R)
    float* const rstds = pointer<float>(rstd);  // (R)
    const T* const w = pointer<T>(weight);      // (C)
    const T* const b = pointer<T>(bias);        // (C)
    if (R == 0) return;
    const bool aligned =
        is_aligned(to) && is_aligned(from) && is_aligned(w) && is_aligned(b) && C % kEight == 0;
    launch(layernorm_forward_kernel<T>, blocks_for(R, kWarps), kBlockSize, stream_, to, means,
           rstds, from, w, b, R, C, aligned);
  });
}

// Workspace: column_sums_bytes for two sums, at most 1 MiB or two rows of fp32.
void CudaDevice::layernorm_backward(View dx, View dweight, View dbias, View dout, View x, View mean,
                                    View rstd, View weight, int R, int C) {
  const OperatorSpan span(*this, "layernorm_backward");
  check_layernorm_backward(dx, dweight, dbias, dout, x, mean, rstd, weight, R, C);
  with_gpu_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    T* const to = pointer<T>(dx);                     // (R, C)
    T* const dweights = pointer<T>(dweight);          // (C)
    T* const dbiases = pointer<T>(dbias);             // (C)
    const T* const gradient = pointer<T>(dout);       // (R, C)
    const T* const from = pointer<T>(x);              // (R, C)
    const float* const means = pointer<float>(mean);  // (R)
    const float* const rstds = pointer<float>(rstd);  // (R)
    const T* const w = pointer<T>(weight);            // (C)

    const bool input_aligned = is_aligned(gradient) && is_aligned(from) && C % kEight == 0;
    const WeightAndBias<T> terms{gradient, from, means, rstds, C, input_aligned};
    column_sums(stream_, ColumnSums<T, 2>{{dweights, dbiases}}, terms, R, C,
                workspace(column_sums_bytes(2, R, C)));
    if (R == 0) return;
    launch(layernorm_dx_kernel<T>, blocks_for(R, kWarps), kBlockSize, stream_, to, gradient, from,
           means, rstds, w, R, C, input_aligned && is_aligned(to) && is_aligned(w));
  });
}

}  // namespace zero
