// Ring collectives: in each step every rank sends to the next and receives from the previous one.
#include <vector>

#include "exercises/02_ring/api.h"

namespace zero::exercise {
namespace {

// The rank `steps` after this one on the ring; `steps` may be negative, down to -K.
int after(const Ring& ring, int steps) {
  return (ring.rank() + steps + ring.world_size()) % ring.world_size();
}

std::span<float> shard_of(const Ring& ring, std::span<float> data, int rank) {
  const Shard shard = ring.shard(rank);
  return data.subspan(shard.begin, shard.size);
}

}  // namespace

void ring_reduce_scatter(Ring& ring, std::span<float> data) {
  // K chains at once, one per owner: a sum starts at the rank after its owner and ends there.
  const int K = ring.world_size();
  std::vector<float> scratch(ring.shard(0).size);  // no shard is larger than the first
  for (int step = 1; step < K; ++step) {
    const std::span<float> leaving = shard_of(ring, data, after(ring, -step));
    const std::span<float> own = shard_of(ring, data, after(ring, -step - 1));
    const std::span<float> arrived = std::span(scratch).first(own.size());
    ring.exchange(after(ring, 1), leaving, after(ring, -1), arrived);
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = arrived[i] + own[i];
  }
  for (float& value : shard_of(ring, data, ring.rank())) value /= static_cast<float>(K);
}

void ring_all_gather(Ring& ring, std::span<float> data) {
  // The own shard leaves first; what arrives in one step leaves in the next.
  for (int step = 1; step < ring.world_size(); ++step) {
    const std::span<float> leaving = shard_of(ring, data, after(ring, 1 - step));
    const std::span<float> arriving = shard_of(ring, data, after(ring, -step));
    ring.exchange(after(ring, 1), leaving, after(ring, -1), arriving);
  }
}

void ring_all_reduce(Ring& ring, std::span<float> data) {
  ring_reduce_scatter(ring, data);
  ring_all_gather(ring, data);
}

}  // namespace zero::exercise
