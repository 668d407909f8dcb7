// The loops that all operators share: element by element, and sums over a row in a fixed order.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "common/memory/dtype.h"

namespace zero {

// to[i] = f(a[i]). `to` may be `a`: then the loop names one array only, because a compiler that
// sees two names has to expect that they overlap and would not vectorise.
template <class To, class A, class F>
void map(To* to, const A* a, std::int64_t n, F f) {
  if constexpr (std::is_same_v<To, A>) {
    if (to == a) {
      for (std::int64_t i = 0; i < n; ++i) to[i] = narrow<To>(f(widen(to[i])));
      return;
    }
  }
  for (std::int64_t i = 0; i < n; ++i) to[i] = narrow<To>(f(widen(a[i])));
}

// to[i] = f(a[i], b[i]). `to` may be `a` or `b`.
template <class T, class F>
void map(T* to, const T* a, const T* b, std::int64_t n, F f) {
  if (to == a) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = narrow<T>(f(widen(to[i]), widen(b[i])));
  } else if (to == b) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = narrow<T>(f(widen(a[i]), widen(to[i])));
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = narrow<T>(f(widen(a[i]), widen(b[i])));
  }
}

// A sum over a row is kept in 32 partial sums, element i in sum i % 32, which are then added in
// pairs: the order is fixed by the index alone, and a vector register of any width fits.
inline constexpr int kLanes = 32;

// The sum of value(i) for 0 <= i < n, in Sum (float or double).
template <class Sum, class F>
Sum sum_of(std::int64_t n, F value) {
  Sum lane[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lane[l] += value(i + l);
  }
  for (int l = 0; i + l < n; ++l) lane[l] += value(i + l);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
  }
  return lane[0];
}

// The largest of x[0 .. n-1]; a NaN is passed over. -infinity when n is 0.
inline float max_of(const float* x, std::int64_t n) {
  float lane[kLanes];
  for (float& value : lane) value = -std::numeric_limits<float>::infinity();
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
  }
  for (int l = 0; i + l < n; ++l) lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lane[l] = lane[l] > lane[l + width] ? lane[l] : lane[l + width];
  }
  return lane[0];
}

// n elements in fp32: x itself, or converted into `scratch`.
inline const float* as_fp32(const float* x, std::int64_t, float*) { return x; }
template <class T>
const float* as_fp32(const T* x, std::int64_t n, float* scratch) {
  for (std::int64_t i = 0; i < n; ++i) scratch[i] = widen(x[i]);
  return scratch;
}

}  // namespace zero
