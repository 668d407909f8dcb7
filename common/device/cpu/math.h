// exp and GELU without a branch or a call, so that loops over them are vectorised.
#pragma once

#include <bit>
#include <cstdint>

namespace zero {

// e^x, off by at most 2 units in the last place; 0 below -104, infinity above 89, NaN for NaN.
// x = k ln 2 + r with |r| <= ln(2)/2: e^x = 2^k e^r, and e^r by its Taylor series, whose first
// term left out is r^8/8! < 6e-9.
inline float fast_exp(float x) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0x1.62e4p-1f;  // 14 bits: a product with |k| <= 150 is exact
  constexpr float kLn2Low = static_cast<float>(0.693147180559945309 - 0x1.62e4p-1);
  constexpr float kRound = 0x1.8p23f;  // adding it leaves the nearest integer in the low bits

  const float clamped = x < -104.0f ? -104.0f : (x > 89.0f ? 89.0f : x);
  const float shifted = clamped * kLog2E + kRound;
  const float rounded = shifted - kRound;
  const std::int32_t k = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound);
  const float r = (clamped - rounded * kLn2High) - rounded * kLn2Low;

  float series = 1.0f / 5040;
  series = series * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = (series * r) * r + r + 1.0f;

  // 2^k in two factors: k = 128 overflows and k < -126 is subnormal only in the product.
  const std::int32_t half = k >> 1;
  const float scale_1 = std::bit_cast<float>(static_cast<std::uint32_t>(half + 127) << 23);
  const float scale_2 = std::bit_cast<float>(static_cast<std::uint32_t>(k - half + 127) << 23);
  return series * scale_1 * scale_2;
}

// GELU(x) = x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3), Hendrycks and Gimpel 2016.
// (1 + tanh(u))/2 = 1/(1 + e^(-2u)): one exp, and no cancellation where x is far below zero.
inline constexpr float kGeluScale = 1.59576912f;  // 2 sqrt(2/pi)
inline constexpr float kGeluCubic = 0.044715f;

inline float gelu(float x) {
  const float u2 = kGeluScale * x * (1.0f + kGeluCubic * x * x);  // 2u
  return x / (1.0f + fast_exp(-u2));
}

// With s = 1/(1 + e^(-2u)): GELU' = s + x s (1 - s) (2u)'. s and 1 - s are p and q in some order,
// where e^(-|2u|) <= 1, so that neither overflows nor is a difference of two numbers near 1.
inline float gelu_derivative(float x) {
  const float square = kGeluCubic * x * x;
  const float u2 = kGeluScale * x * (1.0f + square);
  const float slope = kGeluScale * (1.0f + 3.0f * square);
  const float e = fast_exp(u2 < 0 ? u2 : -u2);
  const float p = 1.0f / (1.0f + e);
  const float q = e * p;
  return (x < 0 ? q : p) + x * (p * q) * slope;
}

}  // namespace zero
