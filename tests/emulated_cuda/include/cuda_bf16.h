// __nv_bfloat16, the upper half of an fp32, and how it is rounded from and widened to it.
#pragma once

#include <bit>
#include <cstdint>

struct __nv_bfloat16 {
  __nv_bfloat16() = default;
  friend unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits_; }
  friend __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
    __nv_bfloat16 result;
    result.bits_ = bits;
    return result;
  }

 private:
  std::uint16_t bits_;
};
unsigned short __bfloat16_as_ushort(__nv_bfloat16 x);
__nv_bfloat16 __ushort_as_bfloat16(unsigned short bits);

// To nearest, ties to even; any NaN becomes 0x7fff.
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return __ushort_as_bfloat16(0x7fff);
  return __ushort_as_bfloat16(
      static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16));
}
inline __nv_bfloat16 __float2bfloat16(float x) { return __float2bfloat16_rn(x); }

// Exact.
inline float __bfloat162float(__nv_bfloat16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(__bfloat16_as_ushort(x)) << 16);
}
