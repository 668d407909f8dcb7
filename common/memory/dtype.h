// The storage types, and how they are widened to and rounded from fp32.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace zero {

enum class Dtype { fp32, fp16, bf16, int32 };  // int32: tokens only

inline std::int64_t bytes_of(Dtype dtype) {
  return dtype == Dtype::fp16 || dtype == Dtype::bf16 ? 2 : 4;
}
std::string_view to_string(Dtype dtype);  // "fp32", "fp16", "bf16", "int32"

// IEEE binary16: 1 sign, 5 exponent, 10 mantissa bits. Largest 65504, smallest 2^-24.
struct Fp16 {
  std::uint16_t bits = 0;
};

// The upper half of an fp32: 1 sign, 8 exponent, 7 mantissa bits.
struct Bf16 {
  std::uint16_t bits = 0;
};

template <class T>
inline constexpr Dtype kDtypeOf = Dtype::fp32;
template <>
inline constexpr Dtype kDtypeOf<Fp16> = Dtype::fp16;
template <>
inline constexpr Dtype kDtypeOf<Bf16> = Dtype::bf16;
template <>
inline constexpr Dtype kDtypeOf<std::int32_t> = Dtype::int32;

// Exact. Integer and fp32 operations without a branch, so that a loop over them is vectorised on
// any processor, with the same bits everywhere.
inline float widen(float x) { return x; }
inline float widen(Bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
inline float widen(Fp16 x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(x.bits & 0x7fffu) << 13;
  // The exponent's bias grows by 127 - 15: one multiplication, exact for subnormals too.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  // Infinity and NaN arrive at 2^16 and above: their exponent becomes all ones.
  const std::uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

// Rounds to nearest, ties to even; too large becomes infinity, NaN stays NaN, subnormals are kept.
template <class T>
T narrow(float x);

template <>
inline float narrow<float>(float x) {
  return x;
}
template <>
inline Bf16 narrow<Bf16>(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet_nan = (bits >> 16) | 0x40u;
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return {static_cast<std::uint16_t>(is_nan ? quiet_nan : rounded)};
}
template <>
inline Fp16 narrow<Fp16>(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Normal results: move the exponent's bias, round the 13 bits that go.
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Subnormal results (below 2^-14): adding 0.5 lets the fp32 addition round at the bit 2^-24.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const std::uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  const std::uint32_t overflow = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const std::uint32_t result = magnitude >= 0x477ff000u ? overflow : finite;
  return {static_cast<std::uint16_t>(result | sign)};
}

// Calls f with a value of the storage type of `dtype` (not int32), so that a template can be chosen
// at run time: with_type(dtype, [&](auto type) { using T = decltype(type); ... });
template <class F>
decltype(auto) with_type(Dtype dtype, F&& f) {
  if (dtype == Dtype::fp16) return f(Fp16{});
  if (dtype == Dtype::bf16) return f(Bf16{});
  return f(float{});
}

}  // namespace zero
