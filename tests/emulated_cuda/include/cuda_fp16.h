// __half, IEEE binary16, and how it is rounded from and widened to fp32, as a GPU does it.
#pragma once

#include <bit>
#include <cstdint>

struct __half {
  __half() = default;
  friend unsigned short __half_as_ushort(__half x) { return x.bits_; }
  friend __half __ushort_as_half(unsigned short bits) {
    __half result;
    result.bits_ = bits;
    return result;
  }

 private:
  std::uint16_t bits_;
};
unsigned short __half_as_ushort(__half x);
__half __ushort_as_half(unsigned short bits);
using half = __half;

// To nearest, ties to even; any NaN becomes 0x7fff.
inline __half __float2half_rn(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t result = 0;
  if (magnitude > 0x7f800000u) return __ushort_as_half(0x7fff);
  if (magnitude >= 0x477ff000u) {  // 65520, half-way to 2^16, and above: infinity
    result = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 rounds at the bit 2^-24
    result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  } else {  // another bias of the exponent, and 13 bits less
    result = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return __ushort_as_half(static_cast<unsigned short>(sign | result));
}
inline __half __float2half(float x) { return __float2half_rn(x); }

// Exact.
inline float __half2float(__half x) {
  const std::uint32_t bits = __half_as_ushort(x);
  const std::uint32_t exponent = (bits >> 10) & 31u;
  const std::uint32_t mantissa = bits & 0x3ffu;
  float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  if (exponent == 31) {
    magnitude = std::bit_cast<float>(0x7f800000u | (mantissa << 13));
  } else if (exponent > 0) {
    magnitude = std::bit_cast<float>(((exponent + 112u) << 23) | (mantissa << 13));
  }
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | ((bits & 0x8000u) << 16));
}
