// Causal attention against float64 loops and finite differences.
#include "tests/operators_fixture.h"

using namespace zero;
using namespace zero::test;

namespace {

struct Shape {
  int B, T, C, H;
};

struct Attention {
  Values out, att;
  Values out_more;  // what rounding att before it is multiplied may change in out
};

struct Gradient {
  Values dqkv;
  Values more;  // what rounding the gradients of the scores may change
};

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// What rounding x to `dtype` may change, on a device that does so between its products.
double rounding(Dtype dtype, double x) {
  if (dtype == Dtype::fp32 || !rounds_between_products()) return 0;
  return unit_roundoff(dtype) * std::abs(x) + (dtype == Dtype::fp16 ? 0x1p-25 : 0);
}

Attention attention(const Values& qkv, const Shape& shape, Dtype dtype = Dtype::fp32) {
  const auto [B, T, C, H] = shape;
  const int D = C / H;
  Attention result{Values(at(B * T * C)), Values(at(B * H * T * T)), Values(at(B * T * C))};
  for (int b = 0; b < B; ++b) {
    for (int h = 0; h < H; ++h) {
      for (int t = 0; t < T; ++t) {
        double* const weights = result.att.data() + ((b * H + h) * T + t) * T;
        double largest = -1e300, sum = 0;
        for (int s = 0; s <= t; ++s) {
          double score = 0;
          for (int i = 0; i < D; ++i) {
            score += qkv[at((b * T + t) * 3 * C + h * D + i)] *
                     qkv[at((b * T + s) * 3 * C + C + h * D + i)];
          }
          weights[s] = score / std::sqrt(D);
          largest = std::max(largest, weights[s]);
        }
        for (int s = 0; s <= t; ++s) sum += weights[s] = std::exp(weights[s] - largest);
        for (int s = 0; s <= t; ++s) {
          weights[s] /= sum;
          for (int i = 0; i < D; ++i) {
            const double value = qkv[at((b * T + s) * 3 * C + 2 * C + h * D + i)];
            const std::size_t element = at((b * T + t) * C + h * D + i);
            result.out[element] += weights[s] * value;
            result.out_more[element] += rounding(dtype, weights[s]) * std::abs(value);
          }
        }
      }
    }
  }
  return result;
}

// From the chain rule, for the given att (which 16-bit storage has rounded).
Gradient attention_gradient(const Values& dout, const Values& qkv, const Values& att,
                            const Shape& shape, Dtype dtype) {
  const auto [B, T, C, H] = shape;
  const int D = C / H;
  Values dqkv(qkv.size()), more(qkv.size());
  for (int b = 0; b < B; ++b) {
    for (int h = 0; h < H; ++h) {
      for (int t = 0; t < T; ++t) {
        const double* const weights = att.data() + ((b * H + h) * T + t) * T;
        Values datt(at(T));
        double mean = 0;
        for (int s = 0; s <= t; ++s) {
          for (int i = 0; i < D; ++i) {
            const double gradient = dout[at((b * T + t) * C + h * D + i)];
            datt[at(s)] += gradient * qkv[at((b * T + s) * 3 * C + 2 * C + h * D + i)];
            dqkv[at((b * T + s) * 3 * C + 2 * C + h * D + i)] += gradient * weights[s];
          }
          mean += weights[s] * datt[at(s)];
        }
        for (int s = 0; s <= t; ++s) {
          const double dscore = weights[s] * (datt[at(s)] - mean);
          const double error = rounding(dtype, dscore) / std::sqrt(D);
          for (int i = 0; i < D; ++i) {
            const std::size_t query = at((b * T + t) * 3 * C + h * D + i);
            const std::size_t key = at((b * T + s) * 3 * C + C + h * D + i);
            dqkv[query] += dscore / std::sqrt(D) * qkv[key];
            dqkv[key] += dscore / std::sqrt(D) * qkv[query];
            more[query] += error * std::abs(qkv[key]);
            more[key] += error * std::abs(qkv[query]);
          }
        }
      }
    }
  }
  return {dqkv, more};
}

const std::vector<Shape> kShapes = {{1, 1, 1, 1},  {2, 5, 33, 3},  {1, 17, 5, 1}, {3, 7, 6, 3},
                                    {2, 63, 6, 2}, {1, 64, 10, 2}, {1, 65, 4, 1}, {1, 150, 9, 3}};

struct Run {
  Fixture fixture;
  Buffer qkv, out, att;

  Run(Dtype dtype, const Shape& shape, const Values& values, int threads = 1)
      : fixture(threads), qkv(fixture.holding(dtype, values)) {
    const auto [B, T, C, H] = shape;
    out = fixture.fresh(dtype, std::int64_t{B} * T * C);
    att = fixture.fresh(dtype, std::int64_t{B} * H * T * T);
    fixture.device->attention_forward(out, att, qkv, B, T, C, H);
  }
  Values backward(Dtype dtype, const Shape& shape, const Values& dout) {
    Buffer dqkv = fixture.fresh(dtype, std::int64_t{shape.B} * shape.T * shape.C * 3);
    fixture.device->attention_backward(dqkv, fixture.holding(dtype, dout), qkv, att, shape.B,
                                       shape.T, shape.C, shape.H);
    return fixture.read(dqkv);
  }
};

}  // namespace

TEST_CASE("attention_forward agrees with the definition, with exact zeros above the diagonal") {
  for (const Dtype dtype : kTypes) {
    for (const Shape& shape : kShapes) {
      for (const int threads : thread_counts()) {
        const auto [B, T, C, H] = shape;
        INFO(to_string(dtype) << ", B " << B << ", T " << T << ", C " << C << ", H " << H);
        const Values qkv = random_values(dtype, B * T * C * 3, 1);
        Run run(dtype, shape, qkv, threads);
        const Attention expected = attention(qkv, shape, dtype);
        require_close(run.fixture.read(run.att), expected.att, dtype, 1e-5);
        require_close(run.fixture.read(run.out), expected.out, dtype, 1e-5, expected.out_more);
        const Values att = run.fixture.read(run.att);
        for (int row = 0; row < B * H * T; ++row) {
          for (int s = row % T + 1; s < T; ++s) REQUIRE(att[at(row * T + s)] == 0);
        }
      }
    }
  }
}

TEST_CASE("attention is stable for scores far beyond the range of exp") {
  const Shape shape{1, 5, 6, 2};
  for (const Dtype dtype : kTypes) {
    const Values qkv = random_values(dtype, 5 * 6 * 3, 2, 60);
    Run run(dtype, shape, qkv);
    const Attention expected = attention(qkv, shape, dtype);
    require_close(run.fixture.read(run.out), expected.out, dtype, 1e-3, expected.out_more);
  }
}

TEST_CASE("attention_backward agrees with the chain rule in float64") {
  for (const Dtype dtype : kTypes) {
    for (const Shape& shape : kShapes) {
      for (const int threads : thread_counts()) {
        const auto [B, T, C, H] = shape;
        INFO(to_string(dtype) << ", B " << B << ", T " << T << ", C " << C << ", H " << H);
        const Values qkv = random_values(dtype, B * T * C * 3, 3);
        const Values dout = random_values(dtype, B * T * C, 4);
        Run run(dtype, shape, qkv, threads);
        const Values stored = run.fixture.read(run.att);
        const Gradient expected = attention_gradient(dout, qkv, stored, shape, dtype);
        require_close(run.backward(dtype, shape, dout), expected.dqkv, dtype, 1e-5, expected.more);
      }
    }
  }
}

TEST_CASE("attention_backward is the gradient of attention_forward by finite differences") {
  for (const Shape& shape : {Shape{1, 1, 1, 1}, {2, 5, 33, 3}, {1, 17, 5, 1}, {1, 70, 2, 1}}) {
    const auto [B, T, C, H] = shape;
    const Values qkv = random_values(Dtype::fp32, B * T * C * 3, 5);
    const Values dout = random_values(Dtype::fp32, B * T * C, 6);
    Run run(Dtype::fp32, shape, qkv);
    const Shape copy = shape;
    const auto loss = [&](const Values& x) { return dot(attention(x, copy).out, dout); };
    require_close(run.backward(Dtype::fp32, shape, dout), finite_differences(loss, qkv),
                  Dtype::fp32, 1e-5);
  }
}
