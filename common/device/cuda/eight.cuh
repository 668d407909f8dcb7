// Eight neighbouring elements at a time: in 16-byte accesses where the address allows it, one by
// one otherwise. Which thread handles which element is the same either way, and so are the bits.
#pragma once

#include "common/device/cuda/numbers.cuh"

namespace zero {

inline constexpr int kEight = 8;

// Whether a 16-byte access may begin here.
inline bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

// 16 bytes: eight 16-bit elements, or four fp32.
template <class T>
struct alignas(16) Quadword {
  T elements[16 / sizeof(T)];
};

// How many of the eight elements from `first` on there are among n; first < n.
__device__ inline int rest_of(std::int64_t n, std::int64_t first) {
  return n - first < kEight ? static_cast<int>(n - first) : kEight;
}

// values[i] = from[i] for i < count; count <= 8. `aligned`: from is (then a full eight is read in
// one or two accesses).
template <class T>
__device__ inline void load_eight(float (&values)[kEight], const T* from, int count, bool aligned) {
  constexpr int kEach = 16 / sizeof(T);
  if (aligned && count == kEight) {
    for (int part = 0; part < kEight / kEach; ++part) {
      const Quadword<T> word = reinterpret_cast<const Quadword<T>*>(from)[part];
      for (int i = 0; i < kEach; ++i) values[part * kEach + i] = to_fp32(word.elements[i]);
    }
  } else {
    for (int i = 0; i < kEight; ++i) values[i] = i < count ? to_fp32(from[i]) : 0.0f;
  }
}

// to[i] = round(values[i]) for i < count.
template <class T>
__device__ inline void store_eight(T* to, const float (&values)[kEight], int count, bool aligned) {
  constexpr int kEach = 16 / sizeof(T);
  if (aligned && count == kEight) {
    for (int part = 0; part < kEight / kEach; ++part) {
      Quadword<T> word;
      for (int i = 0; i < kEach; ++i) word.elements[i] = from_fp32<T>(values[part * kEach + i]);
      reinterpret_cast<Quadword<T>*>(to)[part] = word;
    }
  } else {
    // A loop of fixed length, so that the values stay in registers.
    for (int i = 0; i < kEight; ++i) {
      if (i < count) to[i] = from_fp32<T>(values[i]);
    }
  }
}

}  // namespace zero
