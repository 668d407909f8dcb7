// What the operators' tests share: a device, tensors with known values, and comparisons.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "common/device/device.h"
#include "tests/support/device_under_test.h"

namespace zero::test {

using Values = std::vector<double>;

inline const std::vector<Dtype> kTypes = {Dtype::fp32, Dtype::fp16, Dtype::bf16};

// Half the distance between two neighbours of 1: the relative error of one rounding.
inline double unit_roundoff(Dtype dtype) {
  return dtype == Dtype::fp32 ? 0x1p-24 : dtype == Dtype::fp16 ? 0x1p-11 : 0x1p-8;
}

inline std::vector<std::byte> encode(Dtype dtype, const Values& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(bytes_of(dtype)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == Dtype::int32) {
      const auto element = static_cast<std::int32_t>(values[i]);
      std::memcpy(bytes.data() + i * sizeof(element), &element, sizeof(element));
      continue;
    }
    with_type(dtype, [&](auto type) {
      const auto element = narrow<decltype(type)>(static_cast<float>(values[i]));
      std::memcpy(bytes.data() + i * sizeof(element), &element, sizeof(element));
    });
  }
  return bytes;
}

// A device whose fresh memory is full of NaN.
struct Fixture {
  explicit Fixture(int threads = 1, int rank = 0)
      : device(make_device_under_test(tracker, nullptr, true, rank, threads)) {}

  // A buffer that no one has written.
  Buffer fresh(Dtype dtype, std::int64_t size) {
    return device->allocate(Memory::temporary, "test", dtype, size);
  }
  // A buffer with these values, rounded to the type.
  Buffer holding(Dtype dtype, const Values& values) {
    Buffer buffer = fresh(dtype, std::ssize(values));
    device->upload(encode(dtype, values), buffer);
    return buffer;
  }
  std::vector<std::byte> bits(View view) {
    std::vector<std::byte> bytes(view.bytes().size());
    device->download(view, bytes);
    return bytes;
  }
  Values read(View view) {
    const std::vector<std::byte> bytes = bits(view);
    Values values(static_cast<std::size_t>(view.size()));
    with_type(view.dtype(), [&](auto type) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        decltype(type) element;
        std::memcpy(&element, bytes.data() + i * sizeof(element), sizeof(element));
        values[i] = widen(element);
      }
    });
    return values;
  }

  Place place;
  MemoryTracker tracker{place};
  std::unique_ptr<Device> device;
};

// `size` normal numbers, rounded to `dtype`, so that references start from what is stored.
inline Values random_values(Dtype dtype, std::int64_t size, unsigned seed, double scale = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, scale);
  Values values(static_cast<std::size_t>(size));
  for (double& value : values) {
    value = normal(generator);
    with_type(dtype,
              [&](auto type) { value = widen(narrow<decltype(type)>(static_cast<float>(value))); });
  }
  return values;
}

inline Values random_ids(std::int64_t size, std::int64_t limit, unsigned seed) {
  std::mt19937 generator(seed);
  Values values(static_cast<std::size_t>(size));
  for (double& value : values) value = static_cast<double>(generator() % limit);
  return values;
}

// An operator computes in fp32 and rounds each element to `dtype` once. So an element may be off by
// that rounding (a relative unit roundoff, or half the smallest fp16 number) plus what fp32 sums
// lose: `sums` times the largest element, because terms that cancel leave the error of the large.
// `more`, if there is any, is what each element may be off beside that.
inline void require_close(const Values& actual, const Values& expected, Dtype dtype,
                          double sums = 4e-6, const Values& more = {}) {
  REQUIRE(actual.size() == expected.size());
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double allowed = unit_roundoff(dtype) * 1.001 * std::abs(expected[i]) + sums * largest +
                           0x1p-25 + (more.empty() ? 0 : more[i]);
    if (std::abs(actual[i] - expected[i]) <= allowed) continue;
    INFO("element " << i << " of " << actual.size() << ", " << to_string(dtype));
    INFO("actual " << actual[i] << ", expected " << expected[i] << ", allowed " << allowed);
    FAIL();
  }
}

// The gradient of `loss` at `x` by central differences: in float64, so good to about 1e-8.
inline Values finite_differences(const std::function<double(const Values&)>& loss, Values x) {
  constexpr double kStep = 1e-5;
  Values gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + kStep;
    const double above = loss(x);
    x[i] = at - kStep;
    const double below = loss(x);
    x[i] = at;
    gradient[i] = (above - below) / (2 * kStep);
  }
  return gradient;
}

inline double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace zero::test
