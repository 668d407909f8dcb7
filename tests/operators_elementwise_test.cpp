// Operators on ranges, element by element: values, special values, in place, any cut.
#include "tests/operators_fixture.h"

using namespace zero;
using namespace zero::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const std::vector<std::int64_t> kSizes = {0, 1, 7, 31, 33, 259, 1037};

// An operator on [begin, end) of its operands; operand 0 and up, as many as it has.
struct Ranged {
  std::string name;
  std::vector<Dtype> operands;  // their types
  std::function<void(Device&, const std::vector<View>&)> call;
};

std::vector<Ranged> ranged_operators(Dtype dtype) {
  const AdamWStep step{.learning_rate = 1e-2f,
                       .beta1 = 0.9f,
                       .beta2 = 0.999f,
                       .epsilon = 1e-8f,
                       .weight_decay = 0.1f,
                       .correction1 = 0.271f,
                       .correction2 = 0.002997f,
                       .grad_factor = 0.37f};
  const Dtype fp32 = Dtype::fp32;
  return {
      {"zero", {dtype}, [](Device& d, const auto& v) { d.zero(v[0]); }},
      {"copy to fp32", {dtype, fp32}, [](Device& d, const auto& v) { d.copy(v[0], v[1]); }},
      {"copy from fp32", {fp32, dtype}, [](Device& d, const auto& v) { d.copy(v[0], v[1]); }},
      {"add", {dtype, dtype, dtype}, [](Device& d, const auto& v) { d.add(v[0], v[1], v[2], 3); }},
      {"accumulate", {fp32, dtype}, [](Device& d, const auto& v) { d.accumulate(v[0], v[1]); }},
      {"divide", {dtype, fp32}, [](Device& d, const auto& v) { d.divide(v[0], v[1], 3); }},
      {"adamw",
       {fp32, fp32, fp32, dtype},
       [step](Device& d, const auto& v) { d.adamw(v[0], v[1], v[2], v[3], step); }},
      {"gelu_forward",
       {dtype, dtype},
       [](Device& d, const auto& v) { d.gelu_forward(v[0], v[1]); }},
      {"gelu_backward",
       {dtype, dtype, dtype},
       [](Device& d, const auto& v) { d.gelu_backward(v[0], v[1], v[2]); }},
      {"residual_forward",
       {dtype, dtype, dtype},
       [](Device& d, const auto& v) { d.residual_forward(v[0], v[1], v[2]); }},
  };
}

// All operands' bits after the operator ran on [0, n), cut at `cuts`.
std::vector<std::vector<std::byte>> run_cut(const Ranged& op, std::int64_t n,
                                            std::vector<std::int64_t> cuts, int threads = 1) {
  Fixture fixture(threads);
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    Values values = random_values(op.operands[i], n, static_cast<unsigned>(i + 1), 2);
    if (op.name == "adamw" && i == 2) {
      for (double& value : values) value = std::abs(value);  // a sum of squares
    }
    buffers.push_back(fixture.holding(op.operands[i], values));
  }
  cuts.push_back(n);
  std::int64_t begin = 0;
  for (const std::int64_t end : cuts) {
    std::vector<View> views;
    for (const Buffer& buffer : buffers) views.push_back(buffer[{begin, end}]);
    op.call(*fixture.device, views);
    begin = end;
  }
  std::vector<std::vector<std::byte>> results;
  for (const Buffer& buffer : buffers) results.push_back(fixture.bits(buffer));
  return results;
}

}  // namespace

TEST_CASE("cutting a range in pieces anywhere gives the same bits") {
  for (const Dtype dtype : kTypes) {
    for (const Ranged& op : ranged_operators(dtype)) {
      INFO(op.name << " in " << to_string(dtype));
      const auto whole = run_cut(op, 1037, {});
      CHECK(run_cut(op, 1037, {1}) == whole);
      CHECK(run_cut(op, 1037, {3, 10, 25, 56, 119, 500, 1036}) == whole);
      std::vector<std::int64_t> single;
      for (std::int64_t i = 1; i < 1037; ++i) single.push_back(i);
      CHECK(run_cut(op, 1037, single) == whole);
    }
  }
}

TEST_CASE("another run, on more threads, gives the same bits, element by element") {
  for (const Dtype dtype : kTypes) {
    for (const Ranged& op : ranged_operators(dtype)) {
      INFO(op.name << " in " << to_string(dtype));
      CHECK(run_cut(op, 150'001, {}, thread_counts().back()) == run_cut(op, 150'001, {}));
    }
  }
}

TEST_CASE("an output may be an input") {
  for (const Dtype dtype : kTypes) {
    Fixture fixture;
    Device& device = *fixture.device;
    const Values a = random_values(dtype, 259, 1), b = random_values(dtype, 259, 2);
    const Buffer apart = fixture.fresh(dtype, 259);
    Buffer x = fixture.holding(dtype, a), y = fixture.holding(dtype, b);
    const auto same_as_apart = [&](const View& result) {
      return fixture.bits(result) == fixture.bits(apart);
    };

    device.add(apart, x, y, 5);
    Buffer in_place = fixture.holding(dtype, a);
    device.add(in_place, in_place, y, 5);
    CHECK(same_as_apart(in_place));
    in_place = fixture.holding(dtype, b);
    device.add(in_place, x, in_place, 5);
    CHECK(same_as_apart(in_place));

    device.residual_forward(apart, x, y);
    in_place = fixture.holding(dtype, a);
    device.residual_forward(in_place, in_place, y);
    CHECK(same_as_apart(in_place));
    in_place = fixture.holding(dtype, b);
    device.residual_forward(in_place, x, in_place);
    CHECK(same_as_apart(in_place));

    device.gelu_forward(apart, x);
    in_place = fixture.holding(dtype, a);
    device.gelu_forward(in_place, in_place);
    CHECK(same_as_apart(in_place));

    device.gelu_backward(apart, y, x);
    in_place = fixture.holding(dtype, b);
    device.gelu_backward(in_place, in_place, x);
    CHECK(same_as_apart(in_place));

    device.copy(x, x);
    CHECK(fixture.read(x) == a);
  }
}

TEST_CASE("zero and copy leave exactly the values asked for, and nothing beside them") {
  for (const Dtype dtype : kTypes) {
    for (const std::int64_t n : kSizes) {
      Fixture fixture;
      Buffer x = fixture.holding(dtype, random_values(dtype, n + 2, 3));
      const Values before = fixture.read(x);
      fixture.device->zero(x[{1, n + 1}]);
      Values after = fixture.read(x);
      CHECK(after.front() == before.front());
      CHECK(after.back() == before.back());
      for (std::int64_t i = 1; i <= n; ++i) REQUIRE(after[static_cast<std::size_t>(i)] == 0);
    }
  }
}

TEST_CASE("copy rounds to the target's type, infinities and NaN included") {
  for (const Dtype from : kTypes) {
    for (const Dtype to : kTypes) {
      Fixture fixture;
      Values values = random_values(from, 259, 4, 300);
      values[5] = kInfinity;
      values[6] = -kInfinity;
      values[7] = kNan;
      const Buffer x = fixture.holding(from, values), y = fixture.fresh(to, 259);
      fixture.device->copy(x, y);
      CHECK(fixture.bits(y).size() == encode(to, values).size());
      const Values result = fixture.read(y);
      CHECK(std::isnan(result[7]));
      const Buffer expected = fixture.holding(to, fixture.read(x));
      Values rounded = fixture.read(expected);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i != 7) REQUIRE(result[i] == rounded[i]);
      }
    }
  }
}

TEST_CASE("add, accumulate and divide are the definition, rounded once") {
  for (const Dtype dtype : kTypes) {
    for (const std::int64_t n : kSizes) {
      for (const float divisor : {1.0f, 3.0f, 5.0f}) {
        Fixture fixture;
        const Values a = random_values(dtype, n, 5), b = random_values(dtype, n, 6);
        const Values s = random_values(Dtype::fp32, n, 7);
        Buffer to = fixture.fresh(dtype, n), sum = fixture.holding(Dtype::fp32, s);
        const Buffer x = fixture.holding(dtype, a), y = fixture.holding(dtype, b);
        Values average(a.size()), total(a.size()), quotient(a.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
          // fp32 sums and quotients, from double ones: one rounding each.
          average[i] = static_cast<float>(static_cast<float>(a[i] + b[i]) / double{divisor});
          total[i] = static_cast<float>(s[i] + a[i]);
          quotient[i] = static_cast<float>(total[i] / double{divisor});
        }
        fixture.device->add(to, x, y, divisor);
        CHECK(fixture.bits(to) == encode(dtype, average));
        fixture.device->accumulate(sum, x);
        CHECK(fixture.bits(sum) == encode(Dtype::fp32, total));
        fixture.device->divide(to, sum, divisor);
        CHECK(fixture.bits(to) == encode(dtype, quotient));
      }
    }
  }
}

TEST_CASE("infinity, NaN and overflow pass through every reduction operator") {
  for (const Dtype dtype : kTypes) {
    for (const std::size_t at : {0u, 13u, 66u}) {
      for (const double bad : {kInfinity, -kInfinity, kNan}) {
        Fixture fixture;
        Values values = random_values(dtype, 67, 8);
        const Values fine = values;
        values[at] = bad;
        const Buffer x = fixture.holding(dtype, values), y = fixture.holding(dtype, fine);
        Buffer to = fixture.fresh(dtype, 67), sum = fixture.holding(Dtype::fp32, fine);
        const auto is_bad = [&](const View& result) {
          const Values all = fixture.read(result);
          for (std::size_t i = 0; i < all.size(); ++i) {
            if (i != at && !std::isfinite(all[i])) return false;
          }
          return std::isnan(bad) ? std::isnan(all[at]) : all[at] == bad;
        };
        fixture.device->add(to, x, y, 1);
        CHECK(is_bad(to));
        fixture.device->add(to, y, x, 3);
        CHECK(is_bad(to));
        fixture.device->accumulate(sum, x);
        CHECK(is_bad(sum));
        fixture.device->divide(to, sum, 3);
        CHECK(is_bad(to));
        CHECK_FALSE(std::isfinite(fixture.device->sum_of_squares(x)));
        CHECK(std::isfinite(fixture.device->sum_of_squares(y)));
      }
    }
  }
  Fixture fixture;
  const Buffer large = fixture.holding(Dtype::fp16, Values(5, 60000));
  Buffer sum = fixture.fresh(Dtype::fp16, 5);
  fixture.device->add(sum, large, large, 1);
  CHECK(fixture.read(sum) == Values(5, kInfinity));
  fixture.device->add(sum, large, large, 2);
  CHECK(fixture.read(sum) == Values(5, 60000));  // rounded after the division only
}

TEST_CASE("sum_of_squares is the sum in double") {
  for (const Dtype dtype : kTypes) {
    for (const std::int64_t n : kSizes) {
      Fixture fixture;
      const Values values = random_values(dtype, n, 9, 100);
      const double expected = dot(values, values);
      const double actual = fixture.device->sum_of_squares(fixture.holding(dtype, values));
      CHECK(std::abs(actual - expected) <= 1e-14 * expected);
    }
  }
  Fixture fixture;  // 3e38 squared is not a float
  const double large = fixture.device->sum_of_squares(fixture.holding(Dtype::fp32, {3e38, 3e38}));
  CHECK(large == Approx(18e76).epsilon(1e-6));
}

TEST_CASE("sum_of_squares does not depend on where the view lies") {
  for (const Dtype dtype : kTypes) {
    Fixture fixture;
    const Values values = random_values(dtype, 700, 10);
    const double first = fixture.device->sum_of_squares(fixture.holding(dtype, values));
    for (const std::int64_t shift : {1, 3, 8, 31}) {
      Buffer other = fixture.fresh(dtype, 700 + shift);
      fixture.device->copy(fixture.holding(dtype, values), other[{shift, 700 + shift}]);
      CHECK(fixture.device->sum_of_squares(other[{shift, 700 + shift}]) == first);
    }
  }
}

TEST_CASE("residual_forward and GELU agree with float64") {
  const auto gelu = [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  };
  for (const Dtype dtype : kTypes) {
    for (const std::int64_t n : kSizes) {
      Fixture fixture;
      const Values x = random_values(dtype, n, 11, 2), dy = random_values(dtype, n, 12);
      const Buffer input = fixture.holding(dtype, x), gradient = fixture.holding(dtype, dy);
      Buffer out = fixture.fresh(dtype, n);
      Values sum(x.size()), forward(x.size()), backward(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        sum[i] = x[i] + dy[i];
        forward[i] = gelu(x[i]);
        backward[i] = dy[i] * (gelu(x[i] + 1e-5) - gelu(x[i] - 1e-5)) / 2e-5;
      }
      fixture.device->residual_forward(out, input, gradient);
      require_close(fixture.read(out), sum, dtype);
      fixture.device->gelu_forward(out, input);
      require_close(fixture.read(out), forward, dtype);
      fixture.device->gelu_backward(out, gradient, input);
      require_close(fixture.read(out), backward, dtype);
    }
  }
}

TEST_CASE("adamw agrees with float64 over three steps") {
  for (const Dtype dtype : kTypes) {
    for (const std::int64_t n : kSizes) {
      Fixture fixture;
      Values w = random_values(Dtype::fp32, n, 13), m(w.size()), v(w.size());
      Buffer master = fixture.holding(Dtype::fp32, w), exp_avg = fixture.holding(Dtype::fp32, m);
      Buffer exp_avg_sq = fixture.holding(Dtype::fp32, v);
      for (int t = 1; t <= 3; ++t) {
        const AdamWStep step{.learning_rate = 1e-2f,
                             .beta1 = 0.9f,
                             .beta2 = 0.999f,
                             .epsilon = 1e-8f,
                             .weight_decay = 0.1f,
                             .correction1 = static_cast<float>(1 - std::pow(0.9, t)),
                             .correction2 = static_cast<float>(1 - std::pow(0.999, t)),
                             .grad_factor = 0.25f};
        const Values grads = random_values(dtype, n, 14 + static_cast<unsigned>(t));
        fixture.device->adamw(master, exp_avg, exp_avg_sq, fixture.holding(dtype, grads), step);
        for (std::size_t i = 0; i < w.size(); ++i) {
          const double g = grads[i] * step.grad_factor;
          m[i] = 0.9 * m[i] + 0.1 * g;
          v[i] = 0.999 * v[i] + 0.001 * g * g;
          const double m_hat = m[i] / (1 - std::pow(0.9, t));
          const double v_hat = v[i] / (1 - std::pow(0.999, t));
          w[i] -= 1e-2 * (m_hat / (std::sqrt(v_hat) + 1e-8) + 0.1 * w[i]);
        }
        // 0.001f and 1 - 0.999f differ by 5e-5 of themselves.
        require_close(fixture.read(exp_avg), m, Dtype::fp32);
        require_close(fixture.read(exp_avg_sq), v, Dtype::fp32, 1e-4);
        require_close(fixture.read(master), w, Dtype::fp32, 4e-6);
      }
    }
  }
}

TEST_CASE("an element that is zero with a zero gradient stays zero under adamw") {
  for (const Dtype dtype : kTypes) {
    Fixture fixture;
    const Values zeros(37, 0);
    Buffer master = fixture.holding(Dtype::fp32, zeros), m = fixture.holding(Dtype::fp32, zeros);
    Buffer v = fixture.holding(Dtype::fp32, zeros);
    fixture.device->adamw(master, m, v, fixture.holding(dtype, zeros),
                          {0.1f, 0.9f, 0.999f, 1e-8f, 0.1f, 0.1f, 0.001f, 3.0f});
    CHECK(fixture.read(master) == zeros);
    CHECK(fixture.read(m) == zeros);
    CHECK(fixture.read(v) == zeros);
  }
}
