// The operators' times, each on its own: what it must read and write, and how long it takes.
#include "tests/gpu/operators.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <span>

#include "common/memory/bytes.h"

namespace zero {
namespace {

constexpr std::int64_t kTile = 1 << 20;  // random numbers, repeated in larger buffers

class Timer {
 public:
  Timer(Device& device, const Pace& pace) : device_(device), pace_(pace), tile_(random_tile()) {}

  Buffer fresh(Dtype dtype, std::int64_t size) {
    return device_.allocate(Memory::temporary, "timed", dtype, size);
  }
  Buffer random(Dtype dtype, std::int64_t size) {
    Buffer buffer = fresh(dtype, size);
    for (std::int64_t i = 0; i < size; i += kTile) {
      const std::int64_t count = std::min(kTile, size - i);
      device_.copy(tile_.view().first(count), buffer.view().slice(i, count));
    }
    return buffer;
  }
  Buffer zeros(Dtype dtype, std::int64_t size) {
    Buffer buffer = fresh(dtype, size);
    device_.zero(buffer);
    return buffer;
  }
  Buffer ids(const std::vector<std::int32_t>& values) {
    Buffer buffer = fresh(Dtype::int32, std::ssize(values));
    device_.upload(std::as_bytes(std::span(values)), buffer);
    return buffer;
  }

  // `prepare` allocates and returns the call to time; what it holds is freed with it.
  void add(const std::string& name, const std::string& size, double amount,
           const std::function<std::function<void()>()>& prepare) {
    Timed timed{name, size, 0, amount};
    try {
      const std::function<void()> call = prepare();
      timed.seconds = seconds_per_call(pace_, call, [this] { device_.synchronize(); });
    } catch (const OutOfMemory&) {
      timed.why = "does not fit into this GPU's memory";
    }
    all_.push_back(timed);
  }

  std::vector<Timed> all() { return std::move(all_); }

 private:
  Buffer random_tile() {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(kTile);
    for (float& value : values) value = normal(generator);
    Buffer tile = fresh(Dtype::fp32, kTile);
    device_.upload(std::as_bytes(std::span(values)), tile);
    return tile;
  }

  Device& device_;
  const Pace& pace_;
  Buffer tile_;
  std::vector<Timed> all_;
};

// A buffer that a call, which is copied, can hold.
std::shared_ptr<Buffer> shared(Buffer buffer) {
  return std::make_shared<Buffer>(std::move(buffer));
}

constexpr Dtype kBf16 = Dtype::bf16, kFp32 = Dtype::fp32;

void on_any_range(Timer& timer, Device& device, std::int64_t n) {
  const std::string size = fmt::format("{} elements", with_commas(n));
  const auto bytes = [&](int each) { return static_cast<double>(n) * each; };
  timer.add("zero", size, bytes(2),
            [&] { return [&, x = shared(timer.fresh(kBf16, n))] { device.zero(*x); }; });
  timer.add("copy, fp32 to bf16", size, bytes(4 + 2), [&] {
    return [&, x = shared(timer.random(kFp32, n)), y = shared(timer.fresh(kBf16, n))] {
      device.copy(*x, *y);
    };
  });
  timer.add("add", size, bytes(2 + 2 + 2), [&] {
    return [&, a = shared(timer.random(kBf16, n)), b = shared(timer.random(kBf16, n)),
            to = shared(timer.fresh(kBf16, n))] { device.add(*to, *a, *b, 2); };
  });
  timer.add("accumulate, bf16 to fp32", size, bytes(4 + 4 + 2), [&] {
    return [&, sum = shared(timer.zeros(kFp32, n)), x = shared(timer.random(kBf16, n))] {
      device.accumulate(*sum, *x);
    };
  });
  timer.add("divide, fp32 to bf16", size, bytes(4 + 2), [&] {
    return [&, sum = shared(timer.random(kFp32, n)), to = shared(timer.fresh(kBf16, n))] {
      device.divide(*to, *sum, 3);
    };
  });
  timer.add("sum_of_squares", size, bytes(2),
            [&] { return [&, x = shared(timer.random(kBf16, n))] { device.sum_of_squares(*x); }; });
  timer.add("gelu_forward", size, bytes(2 + 2), [&] {
    return [&, x = shared(timer.random(kBf16, n)), out = shared(timer.fresh(kBf16, n))] {
      device.gelu_forward(*out, *x);
    };
  });
  timer.add("gelu_backward", size, bytes(2 + 2 + 2), [&] {
    return [&, x = shared(timer.random(kBf16, n)), dout = shared(timer.random(kBf16, n)),
            dx = shared(timer.fresh(kBf16, n))] { device.gelu_backward(*dx, *dout, *x); };
  });
  timer.add("residual_forward", size, bytes(2 + 2 + 2), [&] {
    return [&, a = shared(timer.random(kBf16, n)), b = shared(timer.random(kBf16, n)),
            out = shared(timer.fresh(kBf16, n))] { device.residual_forward(*out, *a, *b); };
  });
}

void adamw(Timer& timer, Device& device, std::int64_t n) {
  constexpr AdamWStep kStep{1e-3f, 0.9f, 0.999f, 1e-8f, 0.1f, 0.1f, 0.001f, 1.0f};
  timer.add("adamw, bf16 gradients", fmt::format("{} elements", with_commas(n)),
            static_cast<double>(n) * (3 * (4 + 4) + 2), [&] {
              return [&, master = shared(timer.random(kFp32, n)),
                      exp_avg = shared(timer.zeros(kFp32, n)),
                      exp_avg_sq = shared(timer.zeros(kFp32, n)),
                      grads = shared(timer.random(kBf16, n))] {
                device.adamw(*master, *exp_avg, *exp_avg_sq, *grads, kStep);
              };
            });
}

void layernorm(Timer& timer, Device& device, int R, int C) {
  const std::int64_t n = std::int64_t{R} * C;
  const std::string size = fmt::format("{} rows of {}", with_commas(R), C);
  const auto rows = static_cast<double>(n);
  timer.add("layernorm_forward", size, rows * (2 + 2) + R * 8.0 + C * 4.0, [&] {
    return [&, R, C, out = shared(timer.fresh(kBf16, n)), mean = shared(timer.fresh(kFp32, R)),
            rstd = shared(timer.fresh(kFp32, R)), x = shared(timer.random(kBf16, n)),
            weight = shared(timer.random(kBf16, C)), bias = shared(timer.random(kBf16, C))] {
      device.layernorm_forward(*out, *mean, *rstd, *x, *weight, *bias, R, C);
    };
  });
  timer.add("layernorm_backward", size, rows * (2 + 2 + 2 + 2) + R * 8.0 + C * 6.0, [&] {
    return [&, R, C, dx = shared(timer.zeros(kBf16, n)), dweight = shared(timer.fresh(kBf16, C)),
            dbias = shared(timer.fresh(kBf16, C)), dout = shared(timer.random(kBf16, n)),
            x = shared(timer.random(kBf16, n)), mean = shared(timer.zeros(kFp32, R)),
            rstd = shared(timer.random(kFp32, R)), weight = shared(timer.random(kBf16, C))] {
      device.layernorm_backward(*dx, *dweight, *dbias, *dout, *x, *mean, *rstd, *weight, R, C);
    };
  });
}

void embedding(Timer& timer, Device& device, int B, int T, int C, int V) {
  const std::int64_t R = std::int64_t{B} * T;
  const std::string size = fmt::format("{} tokens, {} channels", with_commas(R), C);
  const std::vector<std::int32_t> ids = word_like_ids(R, V, 3);
  const double distinct = static_cast<double>(std::set(ids.begin(), ids.end()).size());
  const double activations = static_cast<double>(R) * C * 2, tokens = static_cast<double>(R) * 4;
  timer.add("embedding_forward", size, activations + tokens + (distinct + T) * C * 2, [&] {
    return [&, B, T, C, out = shared(timer.fresh(kBf16, R * C)), tokens = shared(timer.ids(ids)),
            wte = shared(timer.random(kBf16, std::int64_t{V} * C)),
            wpe = shared(timer.random(kBf16, std::int64_t{T} * C))] {
      device.embedding_forward(*out, *tokens, *wte, *wpe, B, T, C);
    };
  });
  timer.add("embedding_backward", size, activations + tokens + (V + T) * 2.0 * C, [&] {
    return [&, B, T, C, dwte = shared(timer.fresh(kBf16, std::int64_t{V} * C)),
            dwpe = shared(timer.fresh(kBf16, std::int64_t{T} * C)),
            dout = shared(timer.random(kBf16, R * C)), tokens = shared(timer.ids(ids))] {
      device.embedding_backward(*dwte, *dwpe, *dout, *tokens, B, T, C);
    };
  });
}

void cross_entropy(Timer& timer, Device& device, int R, int V) {
  const std::int64_t n = std::int64_t{R} * V;
  const std::string size = fmt::format("{} rows of {}", with_commas(R), with_commas(V));
  const std::vector<std::int32_t> ids = word_like_ids(R, V, 4);
  const auto rows = static_cast<double>(n);
  timer.add("cross_entropy_forward", size, rows * 2 + R * 8.0, [&] {
    return [&, R, V, logits = shared(timer.random(kBf16, n)),
            log_sum = shared(timer.fresh(kFp32, R)), targets = shared(timer.ids(ids))] {
      device.cross_entropy_forward(*logits, *log_sum, *targets, R, V);
    };
  });
  timer.add("cross_entropy_backward", size, rows * (2 + 2) + R * 8.0, [&] {
    return
        [&, R, V, logits = shared(timer.random(kBf16, n)), dlogits = shared(timer.fresh(kBf16, n)),
         log_sum = shared(timer.zeros(kFp32, R)), targets = shared(timer.ids(ids))] {
          device.cross_entropy_backward(*dlogits, *logits, *log_sum, *targets, 1e-4f, R, V);
        };
  });
}

void linear(Timer& timer, Device& device, const std::string& layer, int R, int I, int O,
            bool has_bias) {
  const std::string size = fmt::format("{}: {} rows, {} to {}", layer, R, I, O);
  const double operations = 2.0 * R * I * O;
  const std::int64_t in = std::int64_t{R} * I, out = std::int64_t{R} * O;
  const std::int64_t matrix = std::int64_t{I} * O;
  timer.add("linear_forward", size, operations, [&] {
    return [&, R, I, O, has_bias, y = shared(timer.fresh(kBf16, out)),
            x = shared(timer.random(kBf16, in)), weight = shared(timer.random(kBf16, matrix)),
            bias = shared(timer.random(kBf16, O))] {
      device.linear_forward(*y, *x, *weight, has_bias ? bias->view() : View(), R, I, O);
    };
  });
  timer.add("linear_backward", size, 2 * operations, [&] {
    return [&, R, I, O, has_bias, dx = shared(timer.fresh(kBf16, in)),
            dweight = shared(timer.fresh(kBf16, matrix)), dbias = shared(timer.fresh(kBf16, O)),
            dout = shared(timer.random(kBf16, out)), x = shared(timer.random(kBf16, in)),
            weight = shared(timer.random(kBf16, matrix))] {
      device.linear_backward(*dx, *dweight, has_bias ? dbias->view() : View(), *dout, *x, *weight,
                             R, I, O);
    };
  });
}

// Counted in full, though what is above the diagonal is zero.
void attention(Timer& timer, Device& device, int B, int T, int C, int H) {
  const std::int64_t rows = std::int64_t{B} * T, scores = rows * H * T;
  const std::string size = fmt::format("{} x {} tokens, {} heads of {}", B, T, H, C / H);
  const double product = 2.0 * static_cast<double>(rows) * T * C;
  timer.add("attention_forward", size, 2 * product, [&] {
    return [&, B, T, C, H, out = shared(timer.fresh(kBf16, rows * C)),
            att = shared(timer.fresh(kBf16, scores)),
            qkv = shared(timer.random(kBf16, 3 * rows * C))] {
      device.attention_forward(*out, *att, *qkv, B, T, C, H);
    };
  });
  timer.add("attention_backward", size, 4 * product, [&] {
    return [&, B, T, C, H, dqkv = shared(timer.fresh(kBf16, 3 * rows * C)),
            dout = shared(timer.random(kBf16, rows * C)),
            qkv = shared(timer.random(kBf16, 3 * rows * C)),
            att = shared(timer.zeros(kBf16, scores))] {
      device.attention_backward(*dqkv, *dout, *qkv, *att, B, T, C, H);
    };
  });
}

}  // namespace

std::vector<std::int32_t> word_like_ids(std::int64_t count, int vocab, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> exponent(0, std::log(vocab + 1.0));
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  for (std::int32_t& id : ids) {
    id = std::min(static_cast<std::int32_t>(std::exp(exponent(generator))) - 1, vocab - 1);
  }
  return ids;
}

std::vector<Timed> time_memory_bound(Device& device, const Sizes& sizes, const Pace& pace) {
  Timer timer(device, pace);
  on_any_range(timer, device, sizes.elements);
  adamw(timer, device, sizes.elements / 4);
  layernorm(timer, device, sizes.rows, sizes.C);
  embedding(timer, device, sizes.sequences, sizes.T, sizes.C, sizes.V);
  cross_entropy(timer, device, sizes.B * sizes.T, sizes.V);
  return timer.all();
}

std::vector<Timed> time_products(Device& device, const Sizes& sizes, const Pace& pace) {
  Timer timer(device, pace);
  const int R = sizes.B * sizes.T, C = sizes.C;
  linear(timer, device, "query, key, value", R, C, 3 * C, true);
  linear(timer, device, "projection", R, C, C, true);
  linear(timer, device, "up", R, C, 4 * C, true);
  linear(timer, device, "down", R, 4 * C, C, true);
  linear(timer, device, "head", R, C, sizes.V, false);
  attention(timer, device, sizes.B, sizes.T, C, sizes.H);
  return timer.all();
}

}  // namespace zero
