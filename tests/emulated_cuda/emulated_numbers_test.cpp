// The 16-bit types are rounded and widened as the CPU device does it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <random>

#include "catch.h"
#include "common/memory/dtype.h"

namespace zero {
namespace {

template <class F>
int different(F&& equal) {
  int count = 0;
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    if (!equal(static_cast<std::uint16_t>(bits))) ++count;
  }
  return count;
}

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

TEST_CASE("All 65536 values of fp16 and bf16 are widened alike") {
  CHECK(different([](std::uint16_t bits) {
          return same(__half2float(__ushort_as_half(bits)), widen(Fp16{bits}));
        }) == 0);
  CHECK(different([](std::uint16_t bits) {
          return same(__bfloat162float(__ushort_as_bfloat16(bits)), widen(Bf16{bits}));
        }) == 0);
}

TEST_CASE("All 65536 values of fp16 and bf16 come back from fp32") {
  CHECK(different([](std::uint16_t bits) {
          const float x = widen(Fp16{bits});
          const auto back = __half_as_ushort(__float2half_rn(x));
          return std::isnan(x) ? back == 0x7fff : back == bits;  // a GPU has one NaN
        }) == 0);
  CHECK(different([](std::uint16_t bits) {
          const float x = widen(Bf16{bits});
          const auto back = __bfloat16_as_ushort(__float2bfloat16_rn(x));
          return std::isnan(x) ? back == 0x7fff : back == bits;
        }) == 0);
}

// What lies between two 16-bit values, at, below and above the middle, and any float.
TEST_CASE("Floats are rounded to fp16 and bf16 alike") {
  std::mt19937 random(7);
  int wrong = 0;
  const auto check = [&](std::uint32_t bits) {
    const float x = std::bit_cast<float>(bits);
    if (std::isnan(x)) return;
    if (__half_as_ushort(__float2half_rn(x)) != narrow<Fp16>(x).bits) ++wrong;
    if (__bfloat16_as_ushort(__float2bfloat16_rn(x)) != narrow<Bf16>(x).bits) ++wrong;
  };
  for (int i = 0; i < 1000000; ++i) check(static_cast<std::uint32_t>(random()));
  for (std::uint32_t half = 0; half < 0x10000u; ++half) {
    const float x = widen(Fp16{static_cast<std::uint16_t>(half)});
    const std::uint32_t of_half = std::bit_cast<std::uint32_t>(x);
    for (const std::uint32_t up : {0x0fffu, 0x1000u, 0x1001u, 0x1fffu}) check(of_half + up);
    for (const std::uint32_t up : {0x7fffu, 0x8000u, 0x8001u, 0xffffu}) check((half << 16) + up);
  }
  // Subnormal halves: the bit 2^-24 is somewhere else in the float.
  for (int i = 0; i < 100000; ++i) {
    const auto any = static_cast<float>(static_cast<std::uint32_t>(random()) >> 8);
    check(std::bit_cast<std::uint32_t>(any * 0x1p-38f));
    check(std::bit_cast<std::uint32_t>((std::floor(any * 0x1p-14f) + 0.5f) * 0x1p-24f));
  }
  CHECK(wrong == 0);
}

TEST_CASE("The small vectors are laid out as on a GPU") {
  CHECK(sizeof(__half) == 2);
  CHECK(sizeof(__nv_bfloat16) == 2);
  CHECK(std::is_trivial_v<__half>);
  CHECK(std::is_trivial_v<__nv_bfloat16>);
  CHECK(alignof(float4) == 16);
  CHECK(alignof(uint4) == 16);
  CHECK(alignof(uint2) == 8);
  CHECK(sizeof(uint3) == 12);
  CHECK(rsqrtf(4.0f) == 0.5f);
  CHECK(__popc(0xf0f0u) == 8);
  CHECK(__clz(1) == 31);
  CHECK(__ffs(8) == 4);
}

}  // namespace
}  // namespace zero
