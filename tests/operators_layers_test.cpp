// Embedding, layernorm and linear layers against float64 loops written from the definition.
#include "tests/operators_fixture.h"

using namespace zero;
using namespace zero::test;

namespace {

struct Shape {
  int B, T, C;
};

Values layernorm(const Values& x, const Values& weight, const Values& bias, int R, int C) {
  Values out(x.size());
  for (int r = 0; r < R; ++r) {
    const double* row = x.data() + r * C;
    double mean = 0, variance = 0;
    for (int i = 0; i < C; ++i) mean += row[i] / C;
    for (int i = 0; i < C; ++i) variance += (row[i] - mean) * (row[i] - mean) / C;
    for (int i = 0; i < C; ++i) {
      const auto at = static_cast<std::size_t>(i);
      out[static_cast<std::size_t>(r * C + i)] =
          (row[i] - mean) / std::sqrt(variance + 1e-5) * weight[at] + bias[at];
    }
  }
  return out;
}

// a (M, K) times b (K, N), each given by an index function.
template <class A, class B>
Values product(int M, int N, int K, A a, B b) {
  Values c(static_cast<std::size_t>(M) * static_cast<std::size_t>(N));
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) {
      double sum = 0;
      for (int k = 0; k < K; ++k) sum += a(m, k) * b(k, n);
      c[static_cast<std::size_t>(m) * static_cast<std::size_t>(N) + static_cast<std::size_t>(n)] =
          sum;
    }
  }
  return c;
}

}  // namespace

TEST_CASE("embedding_forward adds the token's row and the position's") {
  for (const Dtype dtype : kTypes) {
    for (const auto& [B, T, C] : {Shape{1, 1, 1}, {3, 5, 33}, {1, 7, 5}, {2, 17, 64}}) {
      for (const int V : {1, 7, 259}) {
        Fixture fixture;
        const Values wte = random_values(dtype, V * C, 1),
                     wpe = random_values(dtype, (T + 2) * C, 2);
        const Values tokens = random_ids(B * T, V, 3);
        Buffer out = fixture.fresh(dtype, B * T * C);
        fixture.device->embedding_forward(out, fixture.holding(Dtype::int32, tokens),
                                          fixture.holding(dtype, wte), fixture.holding(dtype, wpe),
                                          B, T, C);
        Values expected;
        for (int r = 0; r < B * T; ++r) {
          for (int i = 0; i < C; ++i) {
            const int token = static_cast<int>(tokens[static_cast<std::size_t>(r)]);
            expected.push_back(wte[static_cast<std::size_t>(token * C + i)] +
                               wpe[static_cast<std::size_t>(r % T * C + i)]);
          }
        }
        require_close(fixture.read(out), expected, dtype, 0);
      }
    }
  }
}

TEST_CASE("embedding_backward sums each token's and each position's rows, and zeroes the others") {
  for (const Dtype dtype : kTypes) {
    for (const auto& [B, T, C] : {Shape{1, 1, 1}, {3, 5, 33}, {1, 7, 5}, {2, 17, 64}}) {
      for (const int V : {1, 7, 259}) {
        Fixture fixture;
        const Values dout = random_values(dtype, B * T * C, 4);
        const Values tokens = random_ids(B * T, V, 5);
        Buffer dwte = fixture.fresh(dtype, V * C), dwpe = fixture.fresh(dtype, (T + 2) * C);
        fixture.device->embedding_backward(dwte, dwpe, fixture.holding(dtype, dout),
                                           fixture.holding(Dtype::int32, tokens), B, T, C);
        Values of_token(static_cast<std::size_t>(V * C)),
            of_position(static_cast<std::size_t>((T + 2) * C));
        for (int r = 0; r < B * T; ++r) {
          for (int i = 0; i < C; ++i) {
            const int token = static_cast<int>(tokens[static_cast<std::size_t>(r)]);
            const double gradient = dout[static_cast<std::size_t>(r * C + i)];
            of_token[static_cast<std::size_t>(token * C + i)] += gradient;
            of_position[static_cast<std::size_t>(r % T * C + i)] += gradient;
          }
        }
        require_close(fixture.read(dwte), of_token, dtype, 1e-6);
        require_close(fixture.read(dwpe), of_position, dtype, 1e-6);
      }
    }
  }
}

TEST_CASE("a token outside the vocabulary throws before anything is written") {
  Fixture fixture;
  const Values wte = random_values(Dtype::fp32, 7 * 5, 1), wpe = random_values(Dtype::fp32, 15, 2);
  for (const double bad : {-1.0, 7.0, 1e9}) {
    const Buffer tokens = fixture.holding(Dtype::int32, {0, 6, bad});
    Buffer out = fixture.fresh(Dtype::fp32, 15);
    Buffer dwte = fixture.holding(Dtype::fp32, wte), dwpe = fixture.holding(Dtype::fp32, wpe);
    const auto before = fixture.bits(out);
    CHECK_THROWS_AS(fixture.device->embedding_forward(out, tokens, dwte, dwpe, 1, 3, 5),
                    std::out_of_range);
    CHECK(fixture.bits(out) == before);
    const Buffer dout = fixture.holding(Dtype::fp32, wpe);
    CHECK_THROWS_AS(fixture.device->embedding_backward(dwte, dwpe, dout, tokens, 1, 3, 5),
                    std::out_of_range);
    CHECK(fixture.read(dwte) == fixture.read(fixture.holding(Dtype::fp32, wte)));
  }
}

TEST_CASE("layernorm_forward normalises each row") {
  for (const Dtype dtype : kTypes) {
    for (const int R : {1, 7, 15}) {
      for (const int C : {1, 5, 33, 100}) {
        Fixture fixture;
        Values x = random_values(dtype, R * C, 1);
        for (double& value : x) value += 3;  // the mean has to be taken away
        Buffer input = fixture.holding(dtype, x);
        x = fixture.read(input);
        const Values weight = random_values(dtype, C, 2), bias = random_values(dtype, C, 3);
        Buffer out = fixture.fresh(dtype, R * C);
        Buffer mean = fixture.fresh(Dtype::fp32, R), rstd = fixture.fresh(Dtype::fp32, R);
        fixture.device->layernorm_forward(out, mean, rstd, input, fixture.holding(dtype, weight),
                                          fixture.holding(dtype, bias), R, C);
        require_close(fixture.read(out), layernorm(x, weight, bias, R, C), dtype, 1e-5);
        Values means, rstds;
        for (int r = 0; r < R; ++r) {
          const double* row = x.data() + r * C;
          double sum = 0, squares = 0;
          for (int i = 0; i < C; ++i) sum += row[i] / C;
          for (int i = 0; i < C; ++i) squares += (row[i] - sum) * (row[i] - sum) / C;
          means.push_back(sum);
          rstds.push_back(1 / std::sqrt(squares + 1e-5));
        }
        require_close(fixture.read(mean), means, Dtype::fp32);
        require_close(fixture.read(rstd), rstds, Dtype::fp32);
      }
    }
  }
}

TEST_CASE("layernorm_backward is the gradient of the definition by finite differences") {
  for (const Dtype dtype : kTypes) {
    for (const int R : {1, 7, 15}) {
      for (const int C : {1, 5, 33}) {
        Fixture fixture;
        const Values x = random_values(dtype, R * C, 1), dout = random_values(dtype, R * C, 2);
        const Values weight = random_values(dtype, C, 3), bias = random_values(dtype, C, 4);
        const Values stream = random_values(dtype, R * C, 5);
        Buffer dx = fixture.holding(dtype, stream);
        Buffer dweight = fixture.fresh(dtype, C), dbias = fixture.fresh(dtype, C);
        Buffer out = fixture.fresh(dtype, R * C);
        Buffer mean = fixture.fresh(Dtype::fp32, R), rstd = fixture.fresh(Dtype::fp32, R);
        const Buffer input = fixture.holding(dtype, x), weights = fixture.holding(dtype, weight);
        fixture.device->layernorm_forward(out, mean, rstd, input, weights,
                                          fixture.holding(dtype, bias), R, C);
        fixture.device->layernorm_backward(dx, dweight, dbias, fixture.holding(dtype, dout), input,
                                           mean, rstd, weights, R, C);
        const auto loss_of_x = [&](const Values& v) {
          return dot(layernorm(v, weight, bias, R, C), dout);
        };
        const auto loss_of_weight = [&](const Values& v) {
          return dot(layernorm(x, v, bias, R, C), dout);
        };
        const auto loss_of_bias = [&](const Values& v) {
          return dot(layernorm(x, weight, v, R, C), dout);
        };
        Values expected = finite_differences(loss_of_x, x);
        for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += stream[i];  // adds to dx
        require_close(fixture.read(dx), expected, dtype, 1e-5);
        require_close(fixture.read(dweight), finite_differences(loss_of_weight, weight), dtype,
                      1e-5);
        require_close(fixture.read(dbias), finite_differences(loss_of_bias, bias), dtype, 1e-5);
      }
    }
  }
}

namespace {

struct Linear {
  int R, I, O;
};

void check_linear(Dtype dtype, const Linear& shape, bool with_bias, int threads) {
  const auto [R, I, O] = shape;
  INFO(to_string(dtype) << ", R " << R << ", I " << I << ", O " << O << ", threads " << threads);
  Fixture fixture(threads);
  const Values x = random_values(dtype, std::int64_t{R} * I, 1);
  const Values w = random_values(dtype, std::int64_t{O} * I, 2);
  const Values bias = random_values(dtype, with_bias ? O : 0, 3);
  const Values dout = random_values(dtype, std::int64_t{R} * O, 4);
  const int inputs = I, outputs = O;  // a lambda cannot name a structured binding
  const auto x_at = [&, inputs](int r, int i) {
    return x[static_cast<std::size_t>(r * inputs + i)];
  };
  const auto w_at = [&, inputs](int o, int i) {
    return w[static_cast<std::size_t>(o * inputs + i)];
  };
  const auto dout_at = [&, outputs](int r, int o) {
    return dout[static_cast<std::size_t>(r * outputs + o)];
  };

  const Buffer input = fixture.holding(dtype, x), weight = fixture.holding(dtype, w);
  const Buffer biases = fixture.holding(dtype, bias), gradient = fixture.holding(dtype, dout);
  Buffer out = fixture.fresh(dtype, std::int64_t{R} * O);
  fixture.device->linear_forward(out, input, weight, with_bias ? biases.view() : View(), R, I, O);
  Values expected = product(R, O, I, x_at, [&](int i, int o) { return w_at(o, i); });
  if (with_bias) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] += bias[i % static_cast<std::size_t>(O)];
    }
  }
  require_close(fixture.read(out), expected, dtype);

  Buffer dx = fixture.fresh(dtype, std::int64_t{R} * I);
  Buffer dweight = fixture.fresh(dtype, std::int64_t{O} * I);
  Buffer dbias = fixture.fresh(dtype, with_bias ? O : 0);
  fixture.device->linear_backward(dx, dweight, with_bias ? dbias.view() : View(), gradient, input,
                                  weight, R, I, O);
  require_close(fixture.read(dx), product(R, I, O, dout_at, w_at), dtype);
  require_close(fixture.read(dweight),
                product(
                    O, I, R, [&](int o, int r) { return dout_at(r, o); }, x_at),
                dtype);
  if (with_bias) {
    require_close(fixture.read(dbias),
                  product(
                      1, O, R, [](int, int) { return 1.0; }, dout_at),
                  dtype);
  }
}

}  // namespace

TEST_CASE("linear layers and their gradients agree with the definition") {
  for (const Dtype dtype : kTypes) {
    for (const auto& shape :
         {Linear{1, 1, 1}, {7, 5, 33}, {15, 33, 5}, {7, 33, 259}, {15, 64, 7}}) {
      for (const int threads : thread_counts()) check_linear(dtype, shape, true, threads);
      check_linear(dtype, shape, false, 1);
    }
  }
}

TEST_CASE("products larger than a tile in every direction agree with the definition") {
  for (const Dtype dtype : kTypes) {
    check_linear(dtype, {3, 1100, 1030}, true, 1);
    check_linear(dtype, {530, 9, 600}, true, 1);
    check_linear(dtype, {1030, 520, 5}, false, 2);
  }
}
