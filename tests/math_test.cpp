// The project's own exp and GELU, against the C library's in double.
#include "common/device/cpu/math.h"

#include <cmath>
#include <limits>

#include "catch.h"

using namespace zero;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double gelu_definition(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

}  // namespace

TEST_CASE("fast_exp is within 2 units in the last place wherever the result is normal") {
  double worst = 0;
  for (float x = -87.3f; x < 88.72f; x += 0.00037f) {
    const double exact = std::exp(static_cast<double>(x));
    const float nearest = static_cast<float>(exact);
    const double unit = std::nextafterf(nearest, kInfinity) - nearest;
    worst = std::max(worst, std::abs(fast_exp(x) - exact) / unit);
  }
  CHECK(worst < 2);
}

TEST_CASE("fast_exp is exact at zero, zero below and infinite above its range, NaN for NaN") {
  CHECK(fast_exp(0.0f) == 1.0f);
  CHECK(fast_exp(-0.0f) == 1.0f);
  CHECK(fast_exp(-kInfinity) == 0.0f);
  CHECK(fast_exp(-1e30f) == 0.0f);
  CHECK(fast_exp(-105.0f) == 0.0f);
  CHECK(fast_exp(kInfinity) == kInfinity);
  CHECK(fast_exp(88.8f) == kInfinity);
  CHECK(fast_exp(1e30f) == kInfinity);
  CHECK(std::isnan(fast_exp(std::numeric_limits<float>::quiet_NaN())));
  CHECK(std::isnan(fast_exp(-std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("fast_exp underflows gradually") {
  for (float x = -103.9f; x < -87.3f; x += 0.01f) {
    const double exact = std::exp(static_cast<double>(x));
    CHECK(std::abs(fast_exp(x) - exact) <= 0x1p-149);
  }
}

TEST_CASE("gelu agrees with its definition, far into the negative tail too") {
  for (float x = -12; x < 12; x += 0.0007f) {
    const double exact = gelu_definition(x);
    // The rounding of 2u, relative 2^-23, times 2u is the relative error of e^(-2u).
    const double allowed =
        (2e-7 + 2e-7 * std::abs(1.6 * x * (1 + 0.045 * x * x))) * std::abs(exact) +
        1e-15;  // the definition's own cancellation
    if (std::abs(gelu(x) - exact) > allowed) FAIL("x " << x);
  }
  CHECK(gelu(0.0f) == 0.0f);
  CHECK(gelu(-100.0f) == 0.0f);
  CHECK(gelu(100.0f) == 100.0f);
  CHECK(gelu(65504.0f) == 65504.0f);
  CHECK(gelu(-65504.0f) == 0.0f);
}

TEST_CASE("gelu_derivative agrees with finite differences of the definition") {
  for (double x = -12; x < 12; x += 0.0031) {
    const float at = static_cast<float>(x);
    const double h = 1e-5;
    const double exact = (gelu_definition(at + h) - gelu_definition(at - h)) / (2 * h);
    if (std::abs(gelu_derivative(at) - exact) > 4e-7) FAIL("x " << x);
  }
  CHECK(gelu_derivative(65504.0f) == 1.0f);
  CHECK(gelu_derivative(-65504.0f) == 0.0f);
}
