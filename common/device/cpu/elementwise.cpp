// Operators on any range of the flat vector, element by element.
#include <array>
#include <cstring>

#include "common/device/check.h"
#include "common/device/cpu/cpu_device.h"
#include "common/device/cpu/loops.h"

namespace zero {
namespace {

// Elements that are worth waking another thread for.
constexpr std::int64_t kGrain = 1 << 15;

}  // namespace

void CpuDevice::zero(View to) {
  const OperatorSpan span(*this, "zero");
  const std::int64_t width = bytes_of(to.dtype());
  std::byte* const data = to.data();
  workers_.split(to.size(), kGrain, [=](int, std::int64_t begin, std::int64_t end) {
    std::memset(data + begin * width, 0, static_cast<std::size_t>((end - begin) * width));
  });
}

void CpuDevice::copy(View from, View to) {
  const OperatorSpan span(*this, "copy");
  check_size("copy", "to", to, from.size());
  with_type(from.dtype(), [&](auto from_type) {
    using From = decltype(from_type);
    with_type(to.dtype(), [&](auto to_type) {
      using To = decltype(to_type);
      const From* const source = from.as<From>();
      To* const target = to.as<To>();
      workers_.split(to.size(), kGrain, [=](int, std::int64_t begin, std::int64_t end) {
        if constexpr (std::is_same_v<From, To>) {
          std::memmove(target + begin, source + begin,
                       static_cast<std::size_t>(end - begin) * sizeof(To));
        } else {
          map(target + begin, source + begin, end - begin, [](float x) { return x; });
        }
      });
    });
  });
}

void CpuDevice::add(View to, View a, View b, float divisor) {
  const OperatorSpan span(*this, "add");
  check_size("add", "a", a, to.size());
  check_size("add", "b", b, to.size());
  with_type(to.dtype(), [&](auto type) {
    using T = decltype(type);
    T* const sum = to.as<T>();
    const T* const left = a.as<T>();
    const T* const right = b.as<T>();
    workers_.split(to.size(), kGrain, [=](int, std::int64_t begin, std::int64_t end) {
      map(sum + begin, left + begin, right + begin, end - begin,
          [divisor](float x, float y) { return (x + y) / divisor; });
    });
  });
}

void CpuDevice::accumulate(View sum, View x) {
  const OperatorSpan span(*this, "accumulate");
  check_size("accumulate", "x", x, sum.size());
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    float* const total = sum.as<float>();
    const T* const value = x.as<T>();
    workers_.split(sum.size(), kGrain, [=](int, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) total[i] += widen(value[i]);
    });
  });
}

void CpuDevice::divide(View to, View sum, float divisor) {
  const OperatorSpan span(*this, "divide");
  check_size("divide", "sum", sum, to.size());
  with_type(to.dtype(), [&](auto type) {
    using T = decltype(type);
    T* const quotient = to.as<T>();
    const float* const total = sum.as<float>();
    workers_.split(to.size(), kGrain, [=](int, std::int64_t begin, std::int64_t end) {
      map(quotient + begin, total + begin, end - begin, [divisor](float x) { return x / divisor; });
    });
  });
}

double CpuDevice::sum_of_squares(View x) {
  const OperatorSpan span(*this, "sum_of_squares");
  double total = 0;
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const T* const value = x.as<T>();
    // One partial sum per thread, added in the order of the parts.
    constexpr int kMaxParts = 64;
    std::array<double, kMaxParts> partial{};
    workers_.split(x.size(), kGrain, [&](int part, std::int64_t begin, std::int64_t end) {
      partial[static_cast<std::size_t>(part)] += sum_of<double>(end - begin, [&](std::int64_t i) {
        const double element = widen(value[begin + i]);
        return element * element;
      });
    });
    for (const double sum : partial) total += sum;
  });
  return total;
}

void CpuDevice::residual_forward(View out, View a, View b) {
  const OperatorSpan span(*this, "residual_forward");
  check_size("residual_forward", "a", a, out.size());
  check_size("residual_forward", "b", b, out.size());
  with_type(out.dtype(), [&](auto type) {
    using T = decltype(type);
    T* const sum = out.as<T>();
    const T* const left = a.as<T>();
    const T* const right = b.as<T>();
    workers_.split(out.size(), kGrain, [=](int, std::int64_t begin, std::int64_t end) {
      map(sum + begin, left + begin, right + begin, end - begin,
          [](float x, float y) { return x + y; });
    });
  });
}

}  // namespace zero
