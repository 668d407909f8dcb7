// Sends and receives one after the other: even ranks send first, odd ones receive first.
#include <algorithm>
#include <functional>
#include <vector>

#include "exercises/02_ring/api.h"

namespace zero::exercise {
namespace {

// What a rank needs to know to take part.
struct Turn {
  Ring& ring;
  std::span<float> data;
  int K = ring.world_size();

  std::span<float> of(int rank) const {
    const Shard shard = ring.shard(((rank % K) + K) % K);
    return data.subspan(shard.begin, shard.size);
  }
  void pass(std::span<const float> out, std::span<float> in) const {
    const int next = (ring.rank() + 1) % K, previous = (ring.rank() + K - 1) % K;
    if (ring.rank() % 2 == 0) ring.send(next, out);
    ring.receive(previous, in);
    if (ring.rank() % 2 == 1) ring.send(next, out);
  }
};

}  // namespace

void ring_reduce_scatter(Ring& ring, std::span<float> data) {
  const Turn turn{ring, data};
  for (int owner = ring.rank() - 1; owner > ring.rank() - turn.K; --owner) {
    const std::span<float> own = turn.of(owner - 1);
    std::vector<float> arrived(own.size());
    turn.pass(turn.of(owner), arrived);
    std::ranges::transform(own, arrived, own.begin(), std::plus<float>());
  }
  const std::span<float> mine = turn.of(ring.rank());
  std::ranges::transform(mine, mine.begin(), [&](float sum) { return sum / turn.K; });
}

void ring_all_gather(Ring& ring, std::span<float> data) {
  const Turn turn{ring, data};
  for (int owner = ring.rank(); owner > ring.rank() + 1 - turn.K; --owner) {
    turn.pass(turn.of(owner), turn.of(owner - 1));
  }
}

void ring_all_reduce(Ring& ring, std::span<float> data) {
  ring_reduce_scatter(ring, data);
  ring_all_gather(ring, data);
}

}  // namespace zero::exercise
