// A device itself: addresses, garbage, wrong sizes, the same bits again.
#include <thread>

#include "tests/operators_run_all.h"

using namespace zero;
using namespace zero::test;

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

TEST_CASE("the same command gives the same bits, on each number of threads") {
  for (const Dtype dtype : kTypes) {
    for (const int threads : thread_counts()) {
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
