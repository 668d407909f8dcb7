// Hashed counters, and the normal distribution in exactly defined arithmetic.
#include "common/model/random.h"

#include <bit>
#include <cmath>

namespace zero {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The natural logarithm of a normal number x > 0: x = 2^e m with m in [1/sqrt(2), sqrt(2)), and
// log m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172. The series ends below 1e-17.
double logarithm(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t half = std::bit_cast<std::uint64_t>(std::sqrt(0.5));
  // Adding the distance from sqrt(1/2) to 1 carries into the exponent where m >= sqrt(2).
  const std::uint64_t shifted = bits + (0x3ff0000000000000u - half);
  const std::int64_t e = static_cast<std::int64_t>(shifted >> 52) - 1023;
  const double m = std::bit_cast<double>((shifted & 0x000fffffffffffffu) + half);
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double series = 0;
  for (int n = 21; n >= 1; n -= 2) series = series * s2 + 1.0 / n;
  return static_cast<double>(e) * 0.6931471805599453 + 2 * s * series;
}

// sin x for |x| <= pi/2: Taylor's series up to x^23, whose rest is below 1e-19.
double sine(double x) {
  const double x2 = x * x;
  double series = 1;
  for (int n = 22; n >= 2; n -= 2) series = 1 - series * x2 * (1.0 / (n * (n + 1)));
  return x * series;
}

}  // namespace

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter) {
  return mix(mix(seed) + (counter + 1) * 0x9e3779b97f4a7c15u);
}

double standard_normal(std::uint64_t seed, std::int64_t position) {
  const std::uint64_t counter = 2 * static_cast<std::uint64_t>(position);
  // u in (0, 1], v in [0, 1): 53 bits each.
  const double u = static_cast<double>((random_bits(seed, counter) >> 11) + 1) * 0x1p-53;
  const double v = static_cast<double>(random_bits(seed, counter + 1) >> 11) * 0x1p-53;
  // cos(2 pi v), folded to where the series is good: sin(2 pi (|v - 1/2| - 1/4)).
  const double cosine = sine(6.283185307179586 * (std::fabs(v - 0.5) - 0.25));
  return std::sqrt(-2 * logarithm(u)) * cosine;
}

void normal_numbers(std::uint64_t seed, std::int64_t position, float deviation,
                    std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    const double z = standard_normal(seed, position + static_cast<std::int64_t>(i));
    to[i] = static_cast<float>(static_cast<double>(deviation) * z);
  }
}

}  // namespace zero
