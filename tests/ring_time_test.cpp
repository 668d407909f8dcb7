// The ring's time in closed form against the ring itself, message by message.
#include "common/comm/ring_time.h"

#include <algorithm>
#include <vector>

#include "catch.h"

namespace zero {
namespace {

using Moments = std::vector<Picoseconds>;  // of each rank

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// What ring.cpp does, one message after the other. Every rank enters at 0.
struct Ring {
  Hardware hardware;
  int K = 1;
  std::int64_t chunk = 1;
  Dtype wire = Dtype::fp32;

  int rank(int i) const { return (i % K + K) % K; }
  std::int64_t bytes(std::int64_t size) const { return size * bytes_of(wire); }
  // From the rank before `to`.
  Picoseconds transfer(int to, std::int64_t size) const {
    return transfer_time(hardware.between(rank(to - 1), to), bytes(size));
  }
  Picoseconds wire_only(int to, std::int64_t size) const {
    return wire_time(hardware.between(rank(to - 1), to), bytes(size));
  }
  Picoseconds add(std::int64_t size, bool adds) const {
    return adds ? time_of(add_cost(size, wire), wire, hardware.gpu) : 0;
  }
  std::vector<std::int64_t> chunks(std::int64_t size) const {
    std::vector<std::int64_t> sizes;
    for (; size > 0; size -= sizes.back()) sizes.push_back(std::min(size, chunk));
    return sizes;
  }
  static Picoseconds last(const Moments& moments) {
    return *std::max_element(moments.begin(), moments.end());
  }

  // Goes on from `now`.
  void around(Moments& now, std::int64_t shard_size, bool adds) const {
    for (const std::int64_t size : chunks(shard_size)) {
      for (int step = 1; step < K; ++step) {
        const Moments began = now;
        for (int r = 0; r < K; ++r) {
          const Picoseconds sent = began[index(r)] + transfer(rank(r + 1), size);
          const Picoseconds arrived = std::max(began[index(rank(r - 1))] + transfer(r, size),
                                               began[index(r)] + wire_only(r, size));
          now[index(r)] = std::max(sent, arrived) + add(size, adds);
        }
      }
    }
  }

  Picoseconds scatter_or_gather(std::int64_t shard_size, bool adds) const {
    Moments now(index(K));
    around(now, shard_size, adds);
    return last(now);
  }
  Picoseconds all_reduce(std::int64_t shard_size) const {
    Moments now(index(K));
    around(now, shard_size, true);
    around(now, shard_size, false);
    return last(now);
  }

  // `copied`: how long the chain's first rank works on after its last message.
  Picoseconds chain(std::int64_t size, int first, bool adds, Picoseconds copied) const {
    const std::vector<std::int64_t> sizes = chunks(size);
    const std::size_t n = sizes.size();
    Moments now(index(K));
    Moments sent(n);  // when the rank before began to send each chunk
    for (int place = 0; place < K; ++place) {
      const int r = rank(first + place);
      Moments sending(n);
      for (std::size_t i = 0; i <= n; ++i) {
        const Picoseconds began = now[index(r)];
        if (place < K - 1 && i > 0) {
          sending[i - 1] = began;
          now[index(r)] = std::max(now[index(r)], began + transfer(rank(r + 1), sizes[i - 1]));
        }
        if (place > 0 && i < n) {
          const Picoseconds arrived =
              std::max(sent[i] + transfer(r, sizes[i]), began + wire_only(r, sizes[i]));
          now[index(r)] = std::max(now[index(r)], arrived) + add(sizes[i], adds);
        }
      }
      sent = sending;
    }
    now[index(first)] += copied;
    return last(now);
  }
  Picoseconds copy(std::int64_t size) const {
    return time_of(copy_cost(size, wire, wire), wire, hardware.gpu);
  }
};

// GPUs whose additions cost nothing much, about as much as a message, and much more.
Gpu gpu(double bandwidth) {
  return {.name = "test",
          .memory = 1'000'000,
          .bandwidth = bandwidth,
          .half_flops = 1e12,
          .bf16_flops = 1e12,
          .fp32_flops = 1e12,
          .launch_seconds = 1e-9};
}
const std::vector<double> kMemories = {1e12, 3e8, 1e7};

struct Links {
  Link inside, across;
};
// Usual ones; a slow network; a far but wide one, which is slower for short messages and faster for
// long ones; one that is faster always; two that differ in latency alone.
const std::vector<Links> kLinks = {
    {{"inside", 1e-7, 3e8}, {"across", 5e-7, 1e8}}, {{"inside", 1e-7, 3e9}, {"across", 2e-7, 1e6}},
    {{"inside", 1e-8, 1e7}, {"across", 1e-6, 1e9}}, {{"inside", 3e-7, 1e8}, {"across", 1e-7, 7e8}},
    {{"inside", 0, 1e8}, {"across", 1e-5, 1e8}},
};

void check(const Ring& ring, std::int64_t size) {
  const RingTime time(ring.hardware, ring.K, ring.chunk, ring.wire);
  CAPTURE(ring.K, ring.hardware.gpus_per_node, ring.chunk, size, to_string(ring.wire));
  CAPTURE(ring.hardware.gpu.bandwidth, ring.hardware.link.latency, ring.hardware.link.bandwidth);
  CHECK(time.reduce_scatter(size) == ring.scatter_or_gather(size, true));
  CHECK(time.all_gather(size) == ring.scatter_or_gather(size, false));
  CHECK(time.all_reduce(size) == ring.all_reduce(size));
  for (int owner = 0; owner < ring.K; ++owner) {
    CAPTURE(owner);
    CHECK(time.reduce(size, owner) == ring.chain(size, ring.rank(owner + 1), true, 0));
    CHECK(time.broadcast(size, owner, true) == ring.chain(size, owner, false, 0));
    CHECK(time.broadcast(size, owner, false) == ring.chain(size, owner, false, ring.copy(size)));
  }
}

std::vector<Hardware> clusters(int K) {
  std::vector<Hardware> all;
  for (const int gpus_per_node : {1, 2, 3, 5, 8, K}) {
    for (const Links& links : kLinks) {
      for (const double memory : kMemories) {
        all.push_back({gpu(memory), links.inside, links.across, gpus_per_node});
      }
    }
  }
  return all;
}

TEST_CASE("the closed form is the ring's own time, with every owner and for nodes of any size") {
  const std::int64_t chunk = 7;
  for (int K = 2; K <= 16; ++K) {
    for (const Hardware& hardware : clusters(K)) {
      for (const Dtype wire : {Dtype::fp32, Dtype::fp16}) {
        const Ring ring{hardware, K, chunk, wire};
        // One chunk, part of one; two and three, the last a whole one or not; many.
        for (const std::int64_t size : {1, 6, 7, 8, 13, 14, 15, 20, 21, 22, 143}) {
          check(ring, size);
        }
      }
    }
  }
}

TEST_CASE("the closed form is the ring's own time for chunks of any size") {
  for (const int K : {2, 3, 5, 8, 11}) {
    for (const Hardware& hardware : clusters(K)) {
      for (const std::int64_t chunk : {1, 2, 5, 64, 1000}) {
        check({hardware, K, chunk, Dtype::bf16}, 97);
      }
    }
  }
}

TEST_CASE("nothing takes no time, and a rank alone neither") {
  for (const Hardware& hardware : clusters(5)) {
    for (const int K : {1, 5}) {
      const RingTime time(hardware, K, 4, Dtype::fp32);
      const std::int64_t size = K == 1 ? 10 : 0;
      CHECK(time.all_reduce(size) == 0);
      CHECK(time.reduce_scatter(size) == 0);
      CHECK(time.all_gather(size) == 0);
      CHECK(time.reduce(size, 0) == 0);
      CHECK(time.broadcast(size, 0, true) == 0);
      CHECK(time.broadcast(size, 0, false) == 0);
    }
  }
}

// By hand: a message of 4 elements takes 100 + 160 ns inside, 500 + 320 ns across; an addition of
// 4 elements takes 48 ns, and starting it 1 ns.
TEST_CASE("the ring's times by hand, 3 ranks on nodes of 2") {
  const Hardware hardware{gpu(1e9), {"inside", 1e-7, 1e8}, {"across", 5e-7, 5e7}, 2};
  const RingTime time(hardware, 3, 4, Dtype::fp32);
  const Picoseconds inside = 260'000, across = 820'000, add = 49'000;
  CHECK(time.reduce_scatter(4) == 2 * (across + add));
  CHECK(time.all_gather(8) == 4 * across);
  CHECK(time.all_reduce(4) == 4 * across + 2 * add);
  // 0, 1, 2: the way of one, then one more each time the slowest has been passed.
  CHECK(time.broadcast(4, 0, true) == inside + across);
  CHECK(time.broadcast(12, 0, true) == inside + 3 * across);
  // 1, 2, 0: 2 sends and receives at once, and then adds.
  CHECK(time.reduce(4, 0) == 2 * across + 2 * add);
  CHECK(time.reduce(8, 0) == 3 * across + 3 * add);
}

// At the sizes of a large model a call costs as much as for a small one: this ends.
TEST_CASE("a trillion elements in sixteen million chunks on 1,024 ranks") {
  const Hardware hardware{gpu(1e12), {"inside", 3e-6, 1e11}, {"across", 5e-6, 1e10}, 8};
  const RingTime time(hardware, 1024, 64 * 1024, Dtype::fp16);
  const std::int64_t size = 64 * 1024 * 16'000'000ll;
  // The way of the first chunk, and then one chunk after the other over the slowest link.
  const Picoseconds inside = transfer_time(hardware.link, 128 * 1024);
  const Picoseconds across = transfer_time(hardware.network, 128 * 1024);
  CHECK(time.broadcast(size, 0, true) == 896 * inside + 127 * across + 15'999'999 * across);
  std::int64_t total = 0;
  for (int owner = 0; owner < 1'000'000; ++owner) total += time.reduce(size, owner % 1024) > 0;
  CHECK(total == 1'000'000);
}

}  // namespace
}  // namespace zero
