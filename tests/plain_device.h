// A host device for tests: the elementwise operators as plain loops, rounding by its own functions.
#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "common/device/device.h"

namespace zero {

// Rounds to `mantissa` bits, nearest even, by scaling in fp64: the definition of rounding, not the
// bit tricks of dtype.h. `min_exponent` is that of the smallest normal number.
inline float round_to(double x, int mantissa, int min_exponent, double largest) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return static_cast<float>(x);
  const int exponent = std::max(std::ilogb(x), min_exponent);
  const double unit = std::ldexp(1.0, exponent - mantissa);
  const double rounded = std::nearbyint(x / unit) * unit;
  if (std::abs(rounded) > largest) return std::copysign(INFINITY, static_cast<float>(x));
  return static_cast<float>(rounded);
}
inline float round_to(float x, Dtype dtype) {
  if (dtype == Dtype::fp16) return round_to(x, 10, -14, 65504.0);
  if (dtype == Dtype::bf16) return round_to(x, 7, -126, 0x1.fep127);
  return x;
}

inline float load(View view, std::int64_t i) {
  return with_type(view.dtype(), [&](auto type) { return widen(view.as<decltype(type)>()[i]); });
}
inline void store(View view, std::int64_t i, float x) {
  with_type(view.dtype(), [&](auto type) {
    using T = decltype(type);
    view.as<T>()[i] = narrow<T>(round_to(x, view.dtype()));
  });
}

class PlainDevice : public Device {
 public:
  explicit PlainDevice(MemoryTracker& tracker, int rank = 0, HeapObserver* observer = nullptr)
      : Device(tracker, observer, true, rank) {}

  void download(View from, std::span<std::byte> to) override {
    std::memcpy(to.data(), from.data(), to.size());
  }
  void upload(std::span<const std::byte> from, View to) override {
    std::memcpy(to.data(), from.data(), from.size());
  }

  void zero(View to) override {
    for (std::int64_t i = 0; i < to.size(); ++i) store(to, i, 0);
  }
  void copy(View from, View to) override {
    same_size(from, to);
    for (std::int64_t i = 0; i < to.size(); ++i) store(to, i, load(from, i));
  }
  void add(View to, View a, View b, float divisor) override {
    same_size(to, a);
    same_size(to, b);
    for (std::int64_t i = 0; i < to.size(); ++i) store(to, i, (load(a, i) + load(b, i)) / divisor);
  }
  void accumulate(View sum, View x) override {
    same_size(sum, x);
    for (std::int64_t i = 0; i < sum.size(); ++i) sum.as<float>()[i] += load(x, i);
  }
  void divide(View to, View sum, float divisor) override {
    same_size(to, sum);
    for (std::int64_t i = 0; i < to.size(); ++i) store(to, i, sum.as<float>()[i] / divisor);
  }
  double sum_of_squares(View x) override {
    double total = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      total += static_cast<double>(load(x, i)) * static_cast<double>(load(x, i));
    }
    return total;
  }

  void adamw(View, View, View, View, const AdamWStep&) override { absent(); }
  void embedding_forward(View, View, View, View, int, int, int) override { absent(); }
  void embedding_backward(View, View, View, View, int, int, int) override { absent(); }
  void layernorm_forward(View, View, View, View, View, View, int, int) override { absent(); }
  void layernorm_backward(View, View, View, View, View, View, View, View, int, int) override {
    absent();
  }
  void linear_forward(View, View, View, View, int, int, int) override { absent(); }
  void linear_backward(View, View, View, View, View, View, int, int, int) override { absent(); }
  void attention_forward(View, View, View, int, int, int, int) override { absent(); }
  void attention_backward(View, View, View, View, int, int, int, int) override { absent(); }
  void gelu_forward(View, View) override { absent(); }
  void gelu_backward(View, View, View) override { absent(); }
  void residual_forward(View, View, View) override { absent(); }
  double cross_entropy_forward(View, View, View, int, int) override { absent(); }
  void cross_entropy_backward(View, View, View, View, float, int, int) override { absent(); }

 protected:
  std::byte* take(std::int64_t bytes, std::int64_t offset) override {
    const auto size = static_cast<std::size_t>((bytes + offset + 511) / 256 * 256);
    return static_cast<std::byte*>(std::aligned_alloc(256, size)) + offset;
  }
  void give_back(std::byte* data, std::int64_t, std::int64_t offset) override {
    std::free(data - offset);
  }
  void fill(std::byte* data, std::int64_t bytes, std::uint16_t pattern) override {
    for (std::int64_t i = 0; i + 2 <= bytes; i += 2) std::memcpy(data + i, &pattern, 2);
  }

 private:
  static void same_size(View a, View b) {
    if (a.size() != b.size()) throw std::invalid_argument("views of different sizes");
  }
  [[noreturn]] static void absent() { throw std::logic_error("not an elementwise operator"); }
};

}  // namespace zero
