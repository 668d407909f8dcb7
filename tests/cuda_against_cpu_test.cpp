// Every operator on the GPU beside the same on the CPU: odd sizes, several blocks, unaligned
// starts.
#include "tests/cuda_against_cpu.h"

using namespace zero;
using namespace zero::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Dtype kFp32 = Dtype::fp32, kInt32 = Dtype::int32;

// Elements: none, fewer than a thread's eight, tails of it, and several blocks of 2048.
const std::vector<std::int64_t> kSizes = {0, 1, 3, 5, 7, 17, 33, 65, 257, 1023, 2049, 5003};

// Random numbers with what rounding and sums find hard among them: infinities, NaN, both zeros, the
// largest and the smallest numbers. Four of five seeds have some.
Values hard_values(Dtype dtype, std::int64_t size, unsigned seed) {
  Values values = random_values(dtype, size, seed, 2);
  const std::vector<double> hard = {kInfinity, -kInfinity, kNan,     0.0,  -0.0,  65504,    -65504,
                                    0x1p-24,   0x1p-14,    0x1p-140, 3e38, -3e38, 0x1p-126, 1e-30};
  for (std::size_t i = seed % 5; i < values.size(); i += 11 + seed) {
    const double value = hard[i % hard.size()];
    with_type(dtype, [&](auto type) {
      values[i] = widen(narrow<decltype(type)>(static_cast<float>(value)));
    });
  }
  return values;
}

Call without_result(std::function<void(Device&, const Views&)> call) {
  return [call](Device& device, const Views& v) {
    call(device, v);
    return 0.0;
  };
}

const AdamWStep kStep{.learning_rate = 1e-2f,
                      .beta1 = 0.9f,
                      .beta2 = 0.999f,
                      .epsilon = 1e-8f,
                      .weight_decay = 0.1f,
                      .correction1 = 0.271f,
                      .correction2 = 0.002997f,
                      .grad_factor = 0.37f};

Values absolute(Values values) {
  for (double& value : values) value = std::abs(value);
  return values;
}

}  // namespace

TEST_CASE("zero, copy, add, accumulate, divide and residual_forward have the CPU's bits",
          "[elements]") {
  Both both;
  for (const Dtype dtype : kTypes) {
    for (const std::int64_t n : kSizes) {
      const Values a = hard_values(dtype, n, 1), b = hard_values(dtype, n, 2);
      const Values sum = hard_values(kFp32, n, 3);
      both.compare("zero", {changed(dtype, a, kExact)},
                   without_result([](Device& d, const Views& v) { d.zero(v[0]); }));
      for (const Dtype to : kTypes) {
        both.compare("copy", {input(dtype, a), output(to, n, kExact)},
                     without_result([](Device& d, const Views& v) { d.copy(v[0], v[1]); }));
      }
      for (const float divisor : {1.0f, 3.0f}) {
        both.compare("add", {output(dtype, n, kExact), input(dtype, a), input(dtype, b)},
                     without_result([divisor](Device& d, const Views& v) {
                       d.add(v[0], v[1], v[2], divisor);
                     }));
        both.compare("add in place", {changed(dtype, a, kExact), input(dtype, b)},
                     without_result([divisor](Device& d, const Views& v) {
                       d.add(v[0], v[1], v[0], divisor);
                     }));
        both.compare("divide", {output(dtype, n, kExact), input(kFp32, sum)},
                     without_result(
                         [divisor](Device& d, const Views& v) { d.divide(v[0], v[1], divisor); }));
      }
      both.compare("accumulate", {changed(kFp32, sum, kExact), input(dtype, a)},
                   without_result([](Device& d, const Views& v) { d.accumulate(v[0], v[1]); }));
      both.compare(
          "residual_forward", {output(dtype, n, kExact), input(dtype, a), input(dtype, b)},
          without_result([](Device& d, const Views& v) { d.residual_forward(v[0], v[1], v[2]); }));
    }
  }
}

TEST_CASE("adamw has the CPU's bits", "[elements]") {
  Both both;
  for (const Dtype dtype : kTypes) {
    for (const std::int64_t n : kSizes) {
      both.compare("adamw",
                   {changed(kFp32, random_values(kFp32, n, 1), kExact),
                    changed(kFp32, random_values(kFp32, n, 2), kExact),
                    changed(kFp32, absolute(random_values(kFp32, n, 3)), kExact),
                    input(dtype, hard_values(dtype, n, 4))},
                   without_result(
                       [](Device& d, const Views& v) { d.adamw(v[0], v[1], v[2], v[3], kStep); }));
    }
  }
}

TEST_CASE("gelu and sum_of_squares agree with the CPU's", "[elements]") {
  Both both;
  for (const Dtype dtype : kTypes) {
    for (const std::int64_t n : kSizes) {
      const Values x = random_values(dtype, n, 1, 3), dout = hard_values(dtype, n, 2);
      both.compare("gelu_forward", {output(dtype, n, kClose), input(dtype, x)},
                   without_result([](Device& d, const Views& v) { d.gelu_forward(v[0], v[1]); }));
      both.compare(
          "gelu_backward",
          {output(dtype, n, kClose), input(dtype, random_values(dtype, n, 3)), input(dtype, x)},
          without_result([](Device& d, const Views& v) { d.gelu_backward(v[0], v[1], v[2]); }));
      const auto squares = [](Device& d, const Views& v) { return d.sum_of_squares(v[0]); };
      both.compare("sum_of_squares", {input(dtype, x)}, squares, 1e-14);
      both.compare("sum_of_squares", {input(dtype, dout)}, squares, 1e-14);
    }
  }
}

TEST_CASE("sum_of_squares of more elements than its blocks take at once agrees with the CPU's",
          "[many]") {
  Both both;
  const std::int64_t n = 512 * 256 * 8 + 13;
  both.compare(
      "sum_of_squares", {input(Dtype::bf16, random_values(Dtype::bf16, n, 1))},
      [](Device& d, const Views& v) { return d.sum_of_squares(v[0]); }, 1e-13, Places::aligned);
}

TEST_CASE("on the GPU a range that is cut anywhere gives the same bits", "[elements]") {
  const std::int64_t n = 4099;
  struct Ranged {
    std::string name;
    std::vector<Dtype> operands;
    std::function<void(Device&, const Views&)> call;
  };
  for (const Dtype dtype : kTypes) {
    const std::vector<Ranged> operators = {
        {"add", {dtype, dtype}, [](Device& d, const Views& v) { d.add(v[0], v[0], v[1], 3); }},
        {"copy", {kFp32, dtype}, [](Device& d, const Views& v) { d.copy(v[0], v[1]); }},
        {"gelu", {dtype, dtype}, [](Device& d, const Views& v) { d.gelu_forward(v[0], v[1]); }},
        {"adamw", {kFp32, kFp32, kFp32, dtype}, [](Device& d, const Views& v) {
           d.adamw(v[0], v[1], v[2], v[3], kStep);
         }}};
    for (const Ranged& op : operators) {
      INFO(op.name << " in " << to_string(dtype));
      const auto bits = [&](const std::vector<std::int64_t>& ends) {
        Fixture fixture;
        std::vector<Buffer> buffers;
        for (const Dtype type : op.operands) {
          const auto seed = static_cast<unsigned>(buffers.size());
          buffers.push_back(fixture.holding(type, absolute(random_values(type, n, seed))));
        }
        std::int64_t begin = 0;
        for (const std::int64_t end : ends) {
          Views views;
          for (const Buffer& buffer : buffers) views.push_back(buffer[{begin, end}]);
          op.call(*fixture.device, views);
          begin = end;
        }
        std::vector<std::vector<std::byte>> all;
        for (const Buffer& buffer : buffers) all.push_back(fixture.bits(buffer));
        return all;
      };
      const auto whole = bits({n});
      for (const std::int64_t cut : {1, 5, 8, 2047, 2049, 4098}) CHECK(bits({cut, n}) == whole);
      CHECK(bits({3, 10, 1027, 1028, 3001, n}) == whole);
    }
  }
}

TEST_CASE("embeddings agree with the CPU's", "[rows]") {
  struct Shape {
    int B, T, C, V;
  };
  Both both;
  for (const Dtype dtype : kTypes) {
    for (const auto& [B, T, C, V] : {Shape{1, 1, 1, 1},
                                     {3, 5, 7, 17},
                                     {2, 33, 65, 257},
                                     {3, 17, 257, 5},
                                     {3, 17, 264, 5},   // 16-byte accesses
                                     {3, 129, 2, 257},  // tokens first met after 256 rows
                                     {2, 3, 2057, 5},   // more channels than a block takes
                                     {1, 3, 1023, 17},
                                     {5, 65, 3, 3},
                                     {0, 5, 7, 3}}) {
      const int batch = B, tokens = T, channels = C;  // a lambda cannot name a structured binding
      const Values ids = random_ids(B * T, V, 1), wte = random_values(dtype, V * C, 2);
      const Values wpe = random_values(dtype, (T + 2) * C, 3);
      both.compare("embedding_forward",
                   {output(dtype, B * T * C, kExact), input(kInt32, ids), input(dtype, wte),
                    input(dtype, wpe)},
                   without_result([=](Device& d, const Views& v) {
                     d.embedding_forward(v[0], v[1], v[2], v[3], batch, tokens, channels);
                   }));
      both.compare("embedding_backward",
                   {output(dtype, V * C, kClose), output(dtype, (T + 2) * C, kClose),
                    input(dtype, random_values(dtype, B * T * C, 4)), input(kInt32, ids)},
                   without_result([=](Device& d, const Views& v) {
                     d.embedding_backward(v[0], v[1], v[2], v[3], batch, tokens, channels);
                   }));
    }
  }
}

TEST_CASE("layernorm agrees with the CPU's, infinite gradients included", "[rows]") {
  Both both;
  for (const Dtype dtype : kTypes) {
    for (const auto& [R, C] : {std::pair{1, 1},
                               {3, 5},
                               {7, 17},
                               {33, 65},
                               {257, 33},
                               {33, 64},  // rows of a multiple of eight have 16-byte accesses
                               {5, 264},
                               {5, 1023},
                               {65, 257},
                               {3, 2049},
                               {0, 7}}) {
      const int rows = R, channels = C;
      const Values x = random_values(dtype, R * C, 1), stream = random_values(dtype, R * C, 2);
      const Values weight = random_values(dtype, C, 3), bias = random_values(dtype, C, 4);
      const auto forward = [=](Device& d, const Views& v) {
        d.layernorm_forward(v[0], v[1], v[2], v[3], v[4], v[5], rows, channels);
      };
      both.compare(
          "layernorm_forward",
          {output(dtype, R * C, kClose), output(kFp32, R, kClose), output(kFp32, R, kClose),
           input(dtype, x), input(dtype, weight), input(dtype, bias)},
          without_result(forward));
      for (const bool infinite : {false, true}) {
        Values dout = random_values(dtype, R * C, 5);
        if (infinite && !dout.empty()) dout[dout.size() / 2] = kInfinity;
        both.compare(
            "layernorm_backward",
            {changed(dtype, stream, kClose), output(dtype, C, kClose), output(dtype, C, kClose),
             input(dtype, dout), input(dtype, x), input(kFp32, random_values(kFp32, R, 6, 0.1)),
             input(kFp32, absolute(random_values(kFp32, R, 7))), input(dtype, weight)},
            without_result([=](Device& d, const Views& v) {
              d.layernorm_backward(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], rows, channels);
            }));
      }
    }
  }
}

TEST_CASE("linear layers agree with the CPU's, infinite gradients and empty sums included",
          "[products]") {
  struct Shape {
    int R, I, O;
  };
  Both both;
  for (const Dtype dtype : kTypes) {
    for (const auto& [R, I, O] : {Shape{1, 1, 1},
                                  {3, 5, 7},
                                  {17, 33, 65},
                                  {33, 16, 264},  // dbias with 16-byte accesses
                                  {65, 7, 257},
                                  {257, 17, 3},
                                  {5, 1023, 33},
                                  {33, 3, 1023},
                                  {0, 5, 7},
                                  {3, 5, 0}}) {
      for (const bool with_bias : {true, false}) {
        const int rows = R, inputs = I, outputs = O, biases = with_bias ? O : 0;
        const Values x = random_values(dtype, R * I, 1), weight = random_values(dtype, O * I, 2);
        both.compare("linear_forward",
                     {output(dtype, R * O, kClose), input(dtype, x), input(dtype, weight),
                      input(dtype, random_values(dtype, biases, 3))},
                     without_result([=](Device& d, const Views& v) {
                       d.linear_forward(v[0], v[1], v[2], v[3], rows, inputs, outputs);
                     }),
                     0, Places::both_near);
        Values dout = random_values(dtype, R * O, 4);
        if (with_bias && !dout.empty()) dout[dout.size() / 2] = -kInfinity;
        both.compare("linear_backward",
                     {output(dtype, R * I, kClose), output(dtype, O * I, kClose),
                      output(dtype, biases, kClose), input(dtype, dout), input(dtype, x),
                      input(dtype, weight)},
                     without_result([=](Device& d, const Views& v) {
                       d.linear_backward(v[0], v[1], v[2], v[3], v[4], v[5], rows, inputs, outputs);
                     }),
                     0, Places::both_near);
      }
    }
  }
}

TEST_CASE("attention agrees with the CPU's", "[attention]") {
  struct Shape {
    int B, T, C, H;
  };
  Both both;
  for (const Dtype dtype : kTypes) {
    // What lies between two products is rounded to the type on the GPU and not on the CPU: a weight
    // of at most 1, and a gradient of a score, whose terms may be larger than their sum.
    const double rounded = dtype == kFp32 ? 0 : unit_roundoff(dtype);
    const Tolerance result{.exact = false, .sums = 1e-5 + 2 * rounded};
    const Tolerance gradient{.exact = false, .sums = 1e-5 + 4 * rounded};
    for (const auto& [B, T, C, H] : {Shape{1, 1, 1, 1},
                                     {2, 3, 5, 1},
                                     {1, 17, 15, 3},
                                     {3, 33, 21, 7},
                                     {1, 65, 66, 2},
                                     {1, 257, 10, 2},
                                     {0, 3, 6, 2}}) {
      const int batch = B, tokens = T, channels = C, heads = H;
      const Values qkv = random_values(dtype, B * T * C * 3, 1);
      const std::int64_t squares = std::int64_t{B} * H * T * T;
      both.compare(
          "attention_forward",
          {output(dtype, B * T * C, result), output(dtype, squares, kClose), input(dtype, qkv)},
          without_result([=](Device& d, const Views& v) {
            d.attention_forward(v[0], v[1], v[2], batch, tokens, channels, heads);
          }),
          0, Places::both_near);
      Buffer att = both.cpu.fresh(dtype, squares), out = both.cpu.fresh(dtype, B * T * C);
      both.cpu.device->attention_forward(out, att, both.cpu.holding(dtype, qkv), B, T, C, H);
      both.compare(
          "attention_backward",
          {output(dtype, B * T * C * 3, gradient), input(dtype, random_values(dtype, B * T * C, 2)),
           input(dtype, qkv), input(dtype, both.cpu.read(att))},
          without_result([=](Device& d, const Views& v) {
            d.attention_backward(v[0], v[1], v[2], v[3], batch, tokens, channels, heads);
          }),
          0, Places::both_near);
    }
  }
}

TEST_CASE("heads that do not fit into the scratch together agree with the CPU's", "[attention]") {
  Both both;
  const int B = 1, T = 1025, C = 5, H = 5;  // a square has 4 MiB of scores: 3 heads, then 2
  const Tolerance close{.exact = false, .sums = 1e-4};
  const Values qkv = random_values(kFp32, B * T * C * 3, 1), dout = random_values(kFp32, T * C, 2);
  const std::int64_t squares = std::int64_t{H} * T * T;
  std::vector<Values> results;
  for (Fixture* fixture : {&both.gpu, &both.cpu}) {
    Buffer input = fixture->holding(kFp32, qkv), att = fixture->fresh(kFp32, squares);
    Buffer out = fixture->fresh(kFp32, T * C), dqkv = fixture->fresh(kFp32, T * C * 3);
    fixture->device->attention_forward(out, att, input, B, T, C, H);
    fixture->device->attention_backward(dqkv, fixture->holding(kFp32, dout), input, att, B, T, C,
                                        H);
    for (const Buffer* buffer : {&out, &att, &dqkv}) results.push_back(fixture->read(*buffer));
  }
  for (std::size_t i = 0; i < 3; ++i) require_same(results[i], results[i + 3], kFp32, close);
  // Beside it cuBLAS has 4 MiB of its own.
  CHECK(both.gpu.tracker.peak(Memory::workspace) <= (16 << 20) + (4 << 20));
}

TEST_CASE("cross_entropy agrees with the CPU's, in place and with an infinite factor too",
          "[rows]") {
  Both both;
  for (const Dtype dtype : kTypes) {
    for (const auto& [R, V] :
         {std::pair{1, 1}, {3, 5}, {17, 33}, {5, 1023}, {33, 257}, {2, 5001}, {0, 7}}) {
      const int rows = R, vocabulary = V;
      const Values logits = random_values(dtype, R * V, 1, 3), ids = random_ids(R, V, 2);
      both.compare(
          "cross_entropy_forward",
          {input(dtype, logits), output(kFp32, R, kClose), input(kInt32, ids)},
          [=](Device& d, const Views& v) {
            return d.cross_entropy_forward(v[0], v[1], v[2], rows, vocabulary);
          },
          1e-6);
      Values log_sum;
      for (int r = 0; r < R; ++r) {
        double sum = 0;
        for (int i = 0; i < V; ++i) sum += std::exp(logits[static_cast<std::size_t>(r * V + i)]);
        log_sum.push_back(std::log(sum));
      }
      for (const float factor : {18.3f, std::numeric_limits<float>::infinity()}) {
        both.compare("cross_entropy_backward",
                     {output(dtype, R * V, kClose), input(dtype, logits), input(kFp32, log_sum),
                      input(kInt32, ids)},
                     without_result([=](Device& d, const Views& v) {
                       d.cross_entropy_backward(v[0], v[1], v[2], v[3], factor, rows, vocabulary);
                     }));
        both.compare("cross_entropy_backward in place",
                     {changed(dtype, logits, kClose), input(kFp32, log_sum), input(kInt32, ids)},
                     without_result([=](Device& d, const Views& v) {
                       d.cross_entropy_backward(v[0], v[0], v[1], v[2], factor, rows, vocabulary);
                     }));
      }
    }
  }
}

TEST_CASE("cross_entropy of more rows than are on their way at a time agrees with the CPU's",
          "[many]") {
  Both both;
  const int R = (1 << 14) + 2, V = 3;
  both.compare(
      "cross_entropy_forward",
      {input(Dtype::bf16, random_values(Dtype::bf16, R * V, 1, 3)), output(kFp32, R, kClose),
       input(kInt32, random_ids(R, V, 2))},
      [=](Device& d, const Views& v) { return d.cross_entropy_forward(v[0], v[1], v[2], R, V); },
      1e-6, Places::aligned);
}

TEST_CASE("logits of -infinity add nothing, and a row of nothing else has no loss", "[rows]") {
  Both both;
  const int V = 2570;
  for (const Dtype dtype : kTypes) {
    for (const int R : {3, 4}) {  // the fourth row has nothing else
      Values logits = random_values(dtype, R * V, 1, 3), targets, log_sum;
      const auto row = [&](int r) { return logits.begin() + r * V; };
      std::fill(row(0), row(0) + 2100, -kInfinity);  // what every thread begins with
      std::fill(row(1) + 1, row(2), -kInfinity);     // all but the first
      for (int i = 0; i < V; i += 3) *(row(2) + i) = -kInfinity;
      if (R == 4) std::fill(row(3), row(4), -kInfinity);
      for (int r = 0; r < R; ++r) {
        targets.push_back(r == 0 ? 2200 : r == 1 ? 0 : 2569);
        double sum = 0;
        for (int i = 0; i < V; ++i) sum += std::exp(*(row(r) + i));
        log_sum.push_back(std::log(sum));
      }
      both.compare(
          "cross_entropy_forward",
          {input(dtype, logits), output(kFp32, R, kClose), input(kInt32, targets)},
          [=](Device& d, const Views& v) {
            return d.cross_entropy_forward(v[0], v[1], v[2], R, V);
          },
          1e-6);
      both.compare("cross_entropy_backward",
                   {output(dtype, R * V, kClose), input(dtype, logits), input(kFp32, log_sum),
                    input(kInt32, targets)},
                   without_result([=](Device& d, const Views& v) {
                     d.cross_entropy_backward(v[0], v[1], v[2], v[3], 0.3f, R, V);
                   }));
    }
  }
}
