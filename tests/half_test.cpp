// The 16-bit types, against rounding done in double arithmetic.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "catch.h"
#include "common/memory/dtype.h"

using namespace zero;

namespace {

// A binary format: `mantissa` explicit bits, exponents from `lowest` (subnormals share it) to
// `highest`.
struct Format {
  int mantissa, lowest, highest;
};
constexpr Format kFp16{10, -14, 15};
constexpr Format kBf16{7, -126, 127};

// The value that bits stand for, from the definition of the format.
double decode(std::uint32_t bits, Format format) {
  const int exponent_bits = 15 - format.mantissa;
  const std::uint32_t fraction = bits & ((1u << format.mantissa) - 1);
  const std::uint32_t exponent = (bits >> format.mantissa) & ((1u << exponent_bits) - 1);
  const double sign = bits & 0x8000u ? -1 : 1;
  if (exponent == (1u << exponent_bits) - 1) {
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  }
  const double scaled = exponent == 0 ? fraction : fraction + std::ldexp(1, format.mantissa);
  const int power = exponent == 0 ? format.lowest : static_cast<int>(exponent) - 1 + format.lowest;
  return sign * std::ldexp(scaled, power - format.mantissa);
}

// The nearest number of the format, ties to even: scale so that neighbours are 1 apart, round.
double round_to(double x, Format format) {
  if (!std::isfinite(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), format.lowest);
  const int unit = exponent - format.mantissa;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  const double limit = std::ldexp(2, format.highest);
  return std::abs(rounded) >= limit ? std::copysign(std::numeric_limits<double>::infinity(), x)
                                    : rounded;
}

template <class T>
bool rounds_rightly(float x, Format format) {
  const T narrowed = narrow<T>(x);
  const double expected = round_to(x, format);
  const double actual = decode(narrowed.bits, format);
  if (std::isnan(x)) return std::isnan(actual) && std::isnan(widen(narrowed));
  return actual == expected && std::signbit(actual) == std::signbit(x);
}

template <class T>
void check_all_values(Format format) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const T value{static_cast<std::uint16_t>(bits)};
    const double expected = decode(bits, format);
    INFO("bits " << bits);
    if (std::isnan(expected)) {
      if (!std::isnan(widen(value))) FAIL();
      if (!std::isnan(widen(narrow<T>(widen(value))))) FAIL();
    } else {
      if (widen(value) != expected) FAIL();
      if (narrow<T>(widen(value)).bits != bits) FAIL();
    }
  }
}

// Every value of the type, the midpoint to its neighbour (the tie), and the fp32 numbers beside it.
template <class T>
void check_boundaries(Format format) {
  for (std::uint32_t bits = 0; bits < 0x7fffu; ++bits) {
    const double here = decode(bits, format), next = decode(bits + 1, format);
    if (std::isnan(here) || std::isnan(next)) continue;
    const double tie =
        std::isinf(next) ? here + (here - decode(bits - 1, format)) / 2 : (here + next) / 2;
    if (std::isinf(here)) continue;
    const float middle = static_cast<float>(tie);
    for (const float x : {static_cast<float>(here), middle, std::nextafterf(middle, 0.0f),
                          std::nextafterf(middle, std::numeric_limits<float>::infinity())}) {
      INFO("x " << x << " between bits " << bits << " and the next");
      if (!rounds_rightly<T>(x, format) || !rounds_rightly<T>(-x, format)) FAIL();
    }
  }
}

template <class T>
void check_random(Format format) {
  std::mt19937 generator(5);
  for (int i = 0; i < 2'000'000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(generator()));
    if (!rounds_rightly<T>(x, format)) FAIL("x " << x);
  }
}

}  // namespace

TEST_CASE("every fp16 value widens to what its bits mean and comes back") {
  check_all_values<Fp16>(kFp16);
}

TEST_CASE("every bf16 value widens to what its bits mean and comes back") {
  check_all_values<Bf16>(kBf16);
}

TEST_CASE("narrowing to fp16 rounds to nearest even at every boundary") {
  check_boundaries<Fp16>(kFp16);
}

TEST_CASE("narrowing to bf16 rounds to nearest even at every boundary") {
  check_boundaries<Bf16>(kBf16);
}

TEST_CASE("narrowing any fp32 bits agrees with rounding in double") {
  check_random<Fp16>(kFp16);
  check_random<Bf16>(kBf16);
}

TEST_CASE("fp16 overflows from 65520 on and keeps its subnormals") {
  CHECK(widen(narrow<Fp16>(65504.0f)) == 65504.0f);
  CHECK(widen(narrow<Fp16>(65519.99f)) == 65504.0f);
  CHECK(std::isinf(widen(narrow<Fp16>(65520.0f))));
  CHECK(widen(narrow<Fp16>(0x1p-24f)) == 0x1p-24f);
  CHECK(widen(narrow<Fp16>(0x1p-25f)) == 0.0f);  // a tie, to even
  CHECK(widen(narrow<Fp16>(0x1.000002p-25f)) == 0x1p-24f);
  CHECK(std::signbit(widen(narrow<Fp16>(-0.0f))));
}

TEST_CASE("a loop over an array gives the same bits as one element at a time") {
  std::mt19937 generator(7);
  std::vector<float> x(1037);
  for (float& value : x) value = std::bit_cast<float>(static_cast<std::uint32_t>(generator()));
  std::vector<Fp16> fp16(x.size());
  std::vector<Bf16> bf16(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) fp16[i] = narrow<Fp16>(x[i]);
  for (std::size_t i = 0; i < x.size(); ++i) bf16[i] = narrow<Bf16>(x[i]);
  for (std::size_t i = 0; i < x.size(); ++i) {
    volatile float alone = x[i];  // not part of a vector
    REQUIRE(narrow<Fp16>(alone).bits == fp16[i].bits);
    REQUIRE(narrow<Bf16>(alone).bits == bf16[i].bits);
  }
}
