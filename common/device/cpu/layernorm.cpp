// Layer normalisation over the channels of each row, forward and backward.
#include <cmath>

#include "common/device/check.h"
#include "common/device/cpu/cpu_device.h"
#include "common/device/cpu/loops.h"

namespace zero {
namespace {

constexpr float kEpsilon = 1e-5f;
constexpr std::int64_t kGrain = 16;  // rows

struct Moments {
  float mean, rstd;
};

Moments moments_of(const float* x, std::int64_t C) {
  const float mean = sum_of<float>(C, [&](std::int64_t i) { return x[i]; }) / C;
  const float variance =
      sum_of<float>(C, [&](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); }) / C;
  return {mean, 1.0f / std::sqrt(variance + kEpsilon)};
}

// One row's dx, and its part of dweight and dbias. With n = (x - mean) rstd and d = weight dout:
// dx += rstd (d - mean(d) - n mean(d n)).
template <class T>
void row_backward(T* dx,                                                   // (C)
                  float* dweight,                                          // (C)
                  float* dbias,                                            // (C)
                  const float* dout, const float* x, const float* weight,  // (C)
                  Moments moments, std::int64_t C) {
  const float mean = moments.mean, rstd = moments.rstd;
  const float mean_d = sum_of<float>(C, [&](std::int64_t i) { return weight[i] * dout[i]; }) / C;
  const float mean_dn =
      sum_of<float>(C,
                    [&](std::int64_t i) { return weight[i] * dout[i] * ((x[i] - mean) * rstd); }) /
      C;
  for (std::int64_t i = 0; i < C; ++i) {
    const float n = (x[i] - mean) * rstd;
    dx[i] = narrow<T>(widen(dx[i]) + rstd * (weight[i] * dout[i] - mean_d - n * mean_dn));
  }
  for (std::int64_t i = 0; i < C; ++i) dweight[i] += dout[i] * ((x[i] - mean) * rstd);
  for (std::int64_t i = 0; i < C; ++i) dbias[i] += dout[i];
}

}  // namespace

void CpuDevice::layernorm_forward(View out, View mean, View rstd, View x, View weight, View bias,
                                  int R, int C) {
  const OperatorSpan span(*this, "layernorm_forward");
  check_layernorm_forward(out, mean, rstd, x, weight, bias, R, C);
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    T* const to = out.as<T>();              // (R, C)
    const T* const from = x.as<T>();        // (R, C)
    float* const means = mean.as<float>();  // (R)
    float* const rstds = rstd.as<float>();  // (R)
    float* const scratch = workspace((workers_.size() + 2) * std::int64_t{C});
    const float* const w = as_fp32(weight.as<T>(), C, scratch);    // (C)
    const float* const b = as_fp32(bias.as<T>(), C, scratch + C);  // (C)
    workers_.split(R, kGrain, [&](int part, std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const float* const row = as_fp32(from + r * C, C, scratch + (part + 2) * std::int64_t{C});
        const auto [row_mean, row_rstd] = moments_of(row, C);
        for (std::int64_t i = 0; i < C; ++i) {
          to[r * C + i] = narrow<T>((row[i] - row_mean) * row_rstd * w[i] + b[i]);
        }
        means[r] = row_mean;
        rstds[r] = row_rstd;
      }
    });
  });
}

void CpuDevice::layernorm_backward(View dx, View dweight, View dbias, View dout, View x, View mean,
                                   View rstd, View weight, int R, int C) {
  const OperatorSpan span(*this, "layernorm_backward");
  check_layernorm_backward(dx, dweight, dbias, dout, x, mean, rstd, weight, R, C);
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    T* const to = dx.as<T>();                     // (R, C)
    T* const dweights = dweight.as<T>();          // (C)
    T* const dbiases = dbias.as<T>();             // (C)
    const T* const gradient = dout.as<T>();       // (R, C)
    const T* const from = x.as<T>();              // (R, C)
    const float* const means = mean.as<float>();  // (R)
    const float* const rstds = rstd.as<float>();  // (R)

    // Each part sums its own rows; the parts are then added in order.
    const int parts = workers_.size();
    float* const sums = workspace((4 * parts + 1) * std::int64_t{C});  // (parts, 2, C)
    float* const rows = sums + 2 * parts * std::int64_t{C};            // (parts, 2, C)
    const float* const w = as_fp32(weight.as<T>(), C, rows + 2 * parts * std::int64_t{C});  // (C)
    std::fill_n(sums, 2 * parts * std::int64_t{C}, 0.0f);
    workers_.split(R, kGrain, [&](int part, std::int64_t begin, std::int64_t end) {
      float* const sum = sums + 2 * part * std::int64_t{C};
      float* const scratch = rows + 2 * part * std::int64_t{C};
      for (std::int64_t r = begin; r < end; ++r) {
        row_backward(to + r * C, sum, sum + C, as_fp32(gradient + r * C, C, scratch),
                     as_fp32(from + r * C, C, scratch + C), w, {means[r], rstds[r]}, C);
      }
    });
    for (int part = 1; part < parts; ++part) {
      const float* const other = sums + 2 * part * std::int64_t{C};
      for (std::int64_t i = 0; i < 2 * std::int64_t{C}; ++i) sums[i] += other[i];
    }
    map(dweights, sums, C, [](float value) { return value; });
    map(dbiases, sums + C, C, [](float value) { return value; });
  });
}

}  // namespace zero
