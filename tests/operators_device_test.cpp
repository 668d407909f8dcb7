// The CPU device itself: addresses, garbage, workspace, wrong sizes, threads.
#include <thread>

#include "tests/operators_fixture.h"

using namespace zero;
using namespace zero::test;

namespace {

// Every operator of the model once, forward and backward, for B sequences; returns the bits of all
// outputs, one after the other.
std::vector<std::byte> run_all(Fixture& fixture, Dtype dtype, int B, int T, int C, int H, int V) {
  Device& device = *fixture.device;
  const int R = B * T;
  std::vector<std::byte> all;
  const auto keep = [&](const View& view) {
    const auto bits = fixture.bits(view);
    all.insert(all.end(), bits.begin(), bits.end());
  };
  const auto random = [&](int size, unsigned seed) {
    return fixture.holding(dtype, random_values(dtype, size, seed));
  };
  const Buffer tokens = fixture.holding(Dtype::int32, random_ids(R, V, 1));
  const Buffer wte = random(V * C, 2), wpe = random(T * C, 3);
  const Buffer weight = random(3 * C * C, 4), bias = random(3 * C, 5);
  const Buffer gamma = random(C, 6), beta = random(C, 7), head = random(V * C, 8);
  Buffer x = fixture.fresh(dtype, R * C), ln = fixture.fresh(dtype, R * C);
  Buffer mean = fixture.fresh(Dtype::fp32, R), rstd = fixture.fresh(Dtype::fp32, R);
  Buffer qkv = fixture.fresh(dtype, R * 3 * C), att = fixture.fresh(dtype, B * H * T * T);
  Buffer out = fixture.fresh(dtype, R * C), logits = fixture.fresh(dtype, R * V);
  Buffer log_sum = fixture.fresh(Dtype::fp32, R);
  device.embedding_forward(x, tokens, wte, wpe, B, T, C);
  device.layernorm_forward(ln, mean, rstd, x, gamma, beta, R, C);
  device.linear_forward(qkv, ln, weight, bias, R, C, 3 * C);
  device.attention_forward(out, att, qkv, B, T, C, H);
  device.gelu_forward(out, out);
  device.linear_forward(logits, out, head, View(), R, C, V);
  const double loss = device.cross_entropy_forward(logits, log_sum, tokens, R, V);
  const auto* loss_bits = reinterpret_cast<const std::byte*>(&loss);
  all.insert(all.end(), loss_bits, loss_bits + sizeof(loss));
  for (const Buffer* buffer : {&x, &ln, &mean, &rstd, &qkv, &att, &out, &logits}) keep(*buffer);

  Buffer dout = fixture.fresh(dtype, R * C), dhead = fixture.fresh(dtype, V * C);
  Buffer dqkv = fixture.fresh(dtype, R * 3 * C), dweight = fixture.fresh(dtype, 3 * C * C);
  Buffer dbias = fixture.fresh(dtype, 3 * C), dln = fixture.fresh(dtype, R * C);
  Buffer dgamma = fixture.fresh(dtype, C), dbeta = fixture.fresh(dtype, C);
  Buffer dx = random(R * C, 9), dwte = fixture.fresh(dtype, V * C);
  Buffer dwpe = fixture.fresh(dtype, T * C);
  device.cross_entropy_backward(logits, logits, log_sum, tokens, 0.5f, R, V);
  device.linear_backward(dout, dhead, View(), logits, out, head, R, C, V);
  device.attention_backward(dqkv, dout, qkv, att, B, T, C, H);
  device.linear_backward(dln, dweight, dbias, dqkv, ln, weight, R, C, 3 * C);
  device.layernorm_backward(dx, dgamma, dbeta, dln, x, mean, rstd, gamma, R, C);
  device.embedding_backward(dwte, dwpe, dx, tokens, B, T, C);
  for (const Buffer* buffer : {&logits, &dout, &dhead, &dqkv, &dln, &dweight, &dbias, &dx, &dgamma,
                               &dbeta, &dwte, &dwpe}) {
    keep(*buffer);
  }
  return all;
}

}  // namespace

TEST_CASE("a buffer's address is its first position times the element size, modulo 256") {
  Fixture fixture;
  for (const Dtype dtype : kTypes) {
    for (const std::int64_t begin : {0, 1, 3, 63, 64, 127, 1000, 1'000'003}) {
      for (const std::int64_t size : {0, 1, 77, 4096, 300'000, 700'001}) {
        const Buffer buffer = fixture.device->allocate(Memory::parameters, "params", dtype,
                                                       Range{begin, begin + size});
        const auto address = reinterpret_cast<std::uintptr_t>(buffer.view().data());
        CHECK(address % 256 == static_cast<std::uintptr_t>(begin * bytes_of(dtype)) % 256);
      }
    }
  }
}

TEST_CASE("fresh memory is NaN in every type, and another one on every rank") {
  for (const Dtype dtype : kTypes) {
    std::vector<std::vector<std::byte>> seen;
    for (int rank = 0; rank < 5; ++rank) {
      Fixture fixture(1, rank);
      for (const std::int64_t size : {1, 1001, 600'000}) {
        const Buffer buffer = fixture.fresh(dtype, size);
        for (const double value : fixture.read(buffer)) {
          if (!std::isnan(value)) FAIL("rank " << rank << ", " << to_string(dtype));
        }
      }
      seen.push_back(fixture.bits(fixture.fresh(dtype, 1)));
      for (int other = 0; other < rank; ++other) {
        CHECK(seen[static_cast<std::size_t>(other)] != seen.back());
      }
    }
  }
}

TEST_CASE("every byte that the device holds is the tracker's, and comes back") {
  Fixture fixture;
  {
    const Buffer buffer = fixture.fresh(Dtype::fp32, 1'000'000);
    CHECK(fixture.tracker.live_total() == 4'000'000);
    run_all(fixture, Dtype::fp16, 1, 5, 6, 2, 7);
    CHECK(fixture.tracker.live(Memory::temporary) == 4'000'000);
  }
  CHECK(fixture.tracker.live_total() == fixture.tracker.live(Memory::workspace));
  fixture.device.reset();
  CHECK(fixture.tracker.live_total() == 0);
}

TEST_CASE("the workspace stays within the documented bound, however many rows there are") {
  for (const Dtype dtype : kTypes) {
    const auto workspace = [&](int B, int T, int C, int V) {
      Fixture fixture;
      run_all(fixture, dtype, B, T, C, 2, V);
      return fixture.tracker.peak(Memory::workspace);
    };
    const std::int64_t bound = 4 * (2 * 512 * 1024 + 512 * 512);
    CHECK(workspace(32, 65, 64, 1500) <= bound);
    CHECK(workspace(64, 65, 64, 1500) == workspace(32, 65, 64, 1500));  // rows
    CHECK(workspace(32, 65, 64, 3000) == workspace(32, 65, 64, 1500));  // parameters
    CHECK(workspace(2, 150, 32, 7) <= std::max(bound, std::int64_t{4} * (792 * 16 + 128 * 150)));
  }
  Fixture fixture;  // fp32 reads and writes the views themselves
  const Buffer x = fixture.holding(Dtype::fp32, Values(700 * 70, 1));
  Buffer out = fixture.fresh(Dtype::fp32, 700 * 700);
  fixture.device->linear_forward(out, x, x, View(), 700, 70, 700);
  CHECK(fixture.tracker.peak(Memory::workspace) == 0);
}

TEST_CASE("the same command gives the same bits, on one thread and on three") {
  for (const Dtype dtype : kTypes) {
    for (const int threads : {1, 3}) {
      Fixture first(threads), second(threads);
      const auto bits = run_all(first, dtype, 3, 70, 66, 3, 259);
      CHECK(run_all(second, dtype, 3, 70, 66, 3, 259) == bits);
      CHECK(run_all(first, dtype, 3, 70, 66, 3, 259) == bits);
    }
  }
}

TEST_CASE("five ranks at once get the bits that one gets alone") {
  Fixture alone;
  const auto expected = run_all(alone, Dtype::fp32, 2, 33, 64, 4, 259);
  const auto expected_fp16 = run_all(alone, Dtype::fp16, 2, 33, 64, 4, 259);
  std::vector<std::vector<std::byte>> bits(5), bits_fp16(5);
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < 5; ++rank) {
    ranks.emplace_back([&, rank] {
      Fixture fixture(1, static_cast<int>(rank));
      for (int repeat = 0; repeat < 3; ++repeat) {
        bits[rank] = run_all(fixture, Dtype::fp32, 2, 33, 64, 4, 259);
        bits_fp16[rank] = run_all(fixture, Dtype::fp16, 2, 33, 64, 4, 259);
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (std::size_t rank = 0; rank < 5; ++rank) {
    CHECK(bits[rank] == expected);
    CHECK(bits_fp16[rank] == expected_fp16);
  }
}

TEST_CASE("a wrong size names the operator and the operand, and nothing is written") {
  Fixture fixture;
  Device& device = *fixture.device;
  const Dtype fp32 = Dtype::fp32;
  // R = 6 (B = 2, T = 3), C = 4, H = 2, V = 5.
  Buffer rc = fixture.fresh(fp32, 24), r3c = fixture.fresh(fp32, 72), c = fixture.fresh(fp32, 4);
  Buffer r = fixture.fresh(fp32, 6), att = fixture.fresh(fp32, 36), cc = fixture.fresh(fp32, 16);
  Buffer rv = fixture.fresh(fp32, 30), vc = fixture.fresh(fp32, 20), tc = fixture.fresh(fp32, 12);
  Buffer ids = fixture.holding(Dtype::int32, Values(6, 1));
  Buffer odd = fixture.fresh(fp32, 23), half = fixture.fresh(Dtype::fp16, 24);
  using Call = std::function<void(View, View)>;  // with a right and a wrong operand
  const auto rejects = [&](const Buffer& right, const std::vector<Call>& calls) {
    for (const Call& call : calls) {
      const auto before = fixture.bits(odd);
      CHECK_THROWS_AS(call(right, odd), std::invalid_argument);
      CHECK(fixture.bits(odd) == before);
    }
  };
  rejects(rc, {
                  [&](View a, View b) { device.copy(a, b); },
                  [&](View a, View b) { device.add(b, a, a, 1); },
                  [&](View a, View b) { device.add(a, b, a, 1); },
                  [&](View a, View b) { device.add(a, a, b, 1); },
                  [&](View a, View b) { device.accumulate(b, a); },
                  [&](View a, View b) { device.divide(b, a, 1); },
                  [&](View a, View b) { device.adamw(b, a, a, a, {}); },
                  [&](View a, View b) { device.adamw(a, b, a, a, {}); },
                  [&](View a, View b) { device.adamw(a, a, b, a, {}); },
                  [&](View a, View b) { device.adamw(a, a, a, b, {}); },
                  [&](View a, View b) { device.gelu_forward(b, a); },
                  [&](View a, View b) { device.gelu_backward(b, a, a); },
                  [&](View a, View b) { device.gelu_backward(a, b, a); },
                  [&](View a, View b) { device.residual_forward(b, a, a); },
                  [&](View a, View b) { device.residual_forward(a, b, a); },
                  [&](View a, View b) { device.residual_forward(a, a, b); },
                  [&](View, View b) { device.embedding_forward(b, ids, vc, tc, 2, 3, 4); },
                  [&](View a, View b) { device.embedding_forward(a, ids, b, tc, 2, 3, 4); },
                  [&](View a, View b) { device.embedding_forward(a, ids, vc, b, 2, 3, 4); },
                  [&](View a, View) { device.embedding_forward(a, ids, vc, c, 2, 3, 4); },
                  [&](View, View b) { device.embedding_backward(vc, tc, b, ids, 2, 3, 4); },
                  [&](View a, View b) { device.layernorm_forward(b, r, r, a, c, c, 6, 4); },
                  [&](View a, View b) { device.layernorm_forward(a, b, r, a, c, c, 6, 4); },
                  [&](View a, View b) { device.layernorm_forward(a, r, b, a, c, c, 6, 4); },
                  [&](View a, View b) { device.layernorm_forward(a, r, r, b, c, c, 6, 4); },
                  [&](View a, View b) { device.layernorm_forward(a, r, r, a, b, c, 6, 4); },
                  [&](View a, View b) { device.layernorm_forward(a, r, r, a, c, b, 6, 4); },
                  [&](View a, View b) { device.layernorm_backward(b, c, c, a, a, r, r, c, 6, 4); },
                  [&](View a, View b) { device.layernorm_backward(a, b, c, a, a, r, r, c, 6, 4); },
                  [&](View a, View b) { device.layernorm_backward(a, c, b, a, a, r, r, c, 6, 4); },
                  [&](View a, View b) { device.layernorm_backward(a, c, c, b, a, r, r, c, 6, 4); },
                  [&](View a, View b) { device.linear_forward(b, a, cc, c, 6, 4, 4); },
                  [&](View a, View b) { device.linear_forward(a, b, cc, c, 6, 4, 4); },
                  [&](View a, View b) { device.linear_forward(a, a, b, c, 6, 4, 4); },
                  [&](View a, View b) { device.linear_forward(a, a, cc, b, 6, 4, 4); },
                  [&](View a, View b) { device.linear_backward(b, cc, c, a, a, cc, 6, 4, 4); },
                  [&](View a, View b) { device.linear_backward(a, b, c, a, a, cc, 6, 4, 4); },
                  [&](View a, View b) { device.linear_backward(a, cc, b, a, a, cc, 6, 4, 4); },
                  [&](View a, View b) { device.linear_backward(a, cc, c, b, a, cc, 6, 4, 4); },
                  [&](View, View b) { device.attention_forward(b, att, r3c, 2, 3, 4, 2); },
                  [&](View a, View b) { device.attention_forward(a, b, r3c, 2, 3, 4, 2); },
                  [&](View a, View b) { device.attention_forward(a, att, b, 2, 3, 4, 2); },
                  [&](View a, View) { device.attention_forward(a, att, r3c, 2, 3, 4, 3); },
                  [&](View a, View b) { device.attention_backward(b, a, r3c, att, 2, 3, 4, 2); },
                  [&](View, View b) { device.cross_entropy_forward(b, r, ids, 6, 5); },
                  [&](View, View b) { device.cross_entropy_forward(rv, b, ids, 6, 5); },
                  [&](View, View b) { device.cross_entropy_backward(b, rv, r, ids, 1, 6, 5); },
                  // A type that does not fit is refused as well.
                  [&](View a, View) { device.add(a, a, half, 1); },
                  [&](View a, View) { device.linear_forward(a, half, cc, c, 6, 4, 4); },
                  [&](View a, View) { device.adamw(half, a, a, a, {}); },
              });
  CHECK_THROWS_WITH(device.layernorm_forward(rc, r, r, rc, odd, c, 6, 4),
                    "layernorm_forward: weight has 23 elements, expected 4");
}
