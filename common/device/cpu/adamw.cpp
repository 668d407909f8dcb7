// AdamW with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2): one pass over
// memory.
#include <cmath>

#include "common/device/check.h"
#include "common/device/cpu/cpu_device.h"

namespace zero {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

template <class T>
void update(float* master, float* exp_avg, float* exp_avg_sq, const T* grads, std::int64_t n,
            const AdamWStep& step) {
  // Copies: a store to master could change what `step` refers to, as far as the compiler knows.
  const AdamWStep s = step;
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = widen(grads[i]) * s.grad_factor;
    const float m = s.beta1 * exp_avg[i] + (1 - s.beta1) * g;
    const float v = s.beta2 * exp_avg_sq[i] + (1 - s.beta2) * g * g;
    const float direction = m / s.correction1 / (std::sqrt(v / s.correction2) + s.epsilon);
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    master[i] -= s.learning_rate * (direction + s.weight_decay * master[i]);
  }
}

}  // namespace

void CpuDevice::adamw(View master, View exp_avg, View exp_avg_sq, View grads,
                      const AdamWStep& step) {
  const OperatorSpan span(*this, "adamw");
  check_adamw(master, exp_avg, exp_avg_sq, grads);
  with_type(grads.dtype(), [&](auto type) {
    using T = decltype(type);
    float* const w = master.as<float>();
    float* const m = exp_avg.as<float>();
    float* const v = exp_avg_sq.as<float>();
    const T* const g = grads.as<T>();
    workers_.split(master.size(), kGrain, [&](int, std::int64_t begin, std::int64_t end) {
      update(w + begin, m + begin, v + begin, g + begin, end - begin, step);
    });
  });
}

}  // namespace zero
