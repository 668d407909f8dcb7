// GELU, tanh approximation, forward and backward.
#include "common/device/check.h"
#include "common/device/cpu/cpu_device.h"
#include "common/device/cpu/loops.h"
#include "common/device/cpu/math.h"

namespace zero {
namespace {

constexpr std::int64_t kGrain = 1 << 13;

}  // namespace

void CpuDevice::gelu_forward(View out, View x) {
  const OperatorSpan span(*this, "gelu_forward");
  check_size("gelu_forward", "out", out, x.size());
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    T* const to = out.as<T>();
    const T* const from = x.as<T>();
    workers_.split(x.size(), kGrain, [=](int, std::int64_t begin, std::int64_t end) {
      map(to + begin, from + begin, end - begin, gelu);
    });
  });
}

void CpuDevice::gelu_backward(View dx, View dout, View x) {
  const OperatorSpan span(*this, "gelu_backward");
  check_size("gelu_backward", "dx", dx, x.size());
  check_size("gelu_backward", "dout", dout, x.size());
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    T* const to = dx.as<T>();
    const T* const gradient = dout.as<T>();
    const T* const from = x.as<T>();
    workers_.split(x.size(), kGrain, [=](int, std::int64_t begin, std::int64_t end) {
      map(to + begin, gradient + begin, from + begin, end - begin,
          [](float dy, float value) { return dy * gelu_derivative(value); });
    });
  });
}

}  // namespace zero
