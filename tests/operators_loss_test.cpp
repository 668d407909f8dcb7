// Softmax cross-entropy against float64 and finite differences.
#include "tests/operators_fixture.h"

using namespace zero;
using namespace zero::test;

namespace {

double cross_entropy(const Values& logits, const Values& targets, int R, int V) {
  double loss = 0;
  for (int r = 0; r < R; ++r) {
    const double* const row = logits.data() + r * V;
    double sum = 0;
    for (int v = 0; v < V; ++v) sum += std::exp(row[v]);
    loss += std::log(sum) - row[static_cast<int>(targets[static_cast<std::size_t>(r)])];
  }
  return loss;
}

}  // namespace

TEST_CASE("cross_entropy_forward is the sum of the rows' losses") {
  for (const Dtype dtype : kTypes) {
    for (const int R : {1, 7, 15}) {
      for (const int V : {1, 7, 259, 5001}) {
        for (const int threads : thread_counts()) {
          Fixture fixture(threads);
          const Values logits = random_values(dtype, R * V, 1, 3), targets = random_ids(R, V, 2);
          Buffer log_sum = fixture.fresh(Dtype::fp32, R);
          const double loss =
              fixture.device->cross_entropy_forward(fixture.holding(dtype, logits), log_sum,
                                                    fixture.holding(Dtype::int32, targets), R, V);
          const double expected = cross_entropy(logits, targets, R, V);
          CHECK(std::abs(loss - expected) <= 1e-6 * std::abs(expected) + 1e-6 * R);
          Values log_sums;
          for (int r = 0; r < R; ++r) {
            double sum = 0;
            for (int v = 0; v < V; ++v)
              sum += std::exp(logits[static_cast<std::size_t>(r * V + v)]);
            log_sums.push_back(std::log(sum));
          }
          require_close(fixture.read(log_sum), log_sums, Dtype::fp32, 1e-6);
        }
      }
    }
  }
}

TEST_CASE("cross_entropy is stable for logits far beyond the range of exp") {
  Fixture fixture;
  Buffer log_sum = fixture.fresh(Dtype::fp32, 2);
  const Buffer logits = fixture.holding(Dtype::fp32, {1000, 1000, -1000, -5000, -5000, -5000});
  const Buffer targets = fixture.holding(Dtype::int32, {0, 2});
  const double loss = fixture.device->cross_entropy_forward(logits, log_sum, targets, 2, 3);
  CHECK(loss == Approx(std::log(2) + std::log(3)).epsilon(1e-3));
}

TEST_CASE("cross_entropy_backward is the gradient by finite differences, in place too") {
  for (const Dtype dtype : kTypes) {
    for (const int R : {1, 7, 15}) {
      for (const int V : {1, 7, 35}) {
        Fixture fixture;
        const Values values = random_values(dtype, R * V, 3), ids = random_ids(R, V, 4);
        const float factor = 128.0f / 7;
        Buffer logits = fixture.holding(dtype, values), log_sum = fixture.fresh(Dtype::fp32, R);
        Buffer dlogits = fixture.fresh(dtype, R * V);
        const Buffer targets = fixture.holding(Dtype::int32, ids);
        fixture.device->cross_entropy_forward(logits, log_sum, targets, R, V);
        fixture.device->cross_entropy_backward(dlogits, logits, log_sum, targets, factor, R, V);
        const auto loss = [&](const Values& x) { return factor * cross_entropy(x, ids, R, V); };
        require_close(fixture.read(dlogits), finite_differences(loss, values), dtype);
        fixture.device->cross_entropy_backward(logits, logits, log_sum, targets, factor, R, V);
        CHECK(fixture.bits(logits) == fixture.bits(dlogits));
      }
    }
  }
}

TEST_CASE("an infinite factor makes every gradient infinite or NaN") {
  for (const Dtype dtype : kTypes) {
    Fixture fixture;
    Buffer logits = fixture.holding(dtype, random_values(dtype, 3 * 7, 5));
    Buffer log_sum = fixture.fresh(Dtype::fp32, 3);
    const Buffer targets = fixture.holding(Dtype::int32, {0, 3, 6});
    fixture.device->cross_entropy_forward(logits, log_sum, targets, 3, 7);
    fixture.device->cross_entropy_backward(logits, logits, log_sum, targets,
                                           std::numeric_limits<float>::infinity(), 3, 7);
    for (const double value : fixture.read(logits)) CHECK_FALSE(std::isfinite(value));
  }
}

TEST_CASE("a NaN among the logits reaches the loss") {
  for (const Dtype dtype : kTypes) {
    Fixture fixture;
    Values values = random_values(dtype, 259, 6);
    values[100] = std::numeric_limits<double>::quiet_NaN();
    Buffer log_sum = fixture.fresh(Dtype::fp32, 1);
    CHECK(std::isnan(fixture.device->cross_entropy_forward(
        fixture.holding(dtype, values), log_sum, fixture.holding(Dtype::int32, {5}), 1, 259)));
  }
}

TEST_CASE("a target outside the vocabulary throws") {
  Fixture fixture;
  const Buffer logits = fixture.holding(Dtype::fp32, Values(14, 1));
  Buffer log_sum = fixture.fresh(Dtype::fp32, 2);
  const Buffer targets = fixture.holding(Dtype::int32, {0, 7});
  CHECK_THROWS_AS(fixture.device->cross_entropy_forward(logits, log_sum, targets, 2, 7),
                  std::out_of_range);
  CHECK_THROWS_AS(fixture.device->cross_entropy_backward(logits, logits, log_sum, targets, 1, 2, 7),
                  std::out_of_range);
}
