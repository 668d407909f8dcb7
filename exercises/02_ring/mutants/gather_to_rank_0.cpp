// Rank 0 receives everything, adds, and sends the average to all: it is the only one that works.
// rung: traffic
#include <vector>

#include "exercises/02_ring/api.h"

namespace zero::exercise {

void ring_all_reduce(Ring& ring, std::span<float> data) {
  const int K = ring.world_size();
  if (ring.rank() > 0) {
    ring.send(0, data);
    ring.receive(0, data);
    return;
  }
  std::vector<float> arrived(data.size());
  for (int rank = 1; rank < K; ++rank) {
    ring.receive(rank, arrived);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] += arrived[i];
  }
  for (float& value : data) value /= static_cast<float>(K);
  for (int rank = 1; rank < K; ++rank) ring.send(rank, data);
}

void ring_reduce_scatter(Ring& ring, std::span<float> data) { ring_all_reduce(ring, data); }

void ring_all_gather(Ring& ring, std::span<float> data) {
  for (int owner = 0; owner < ring.world_size(); ++owner) {
    const Shard shard = ring.shard(owner);
    const std::span<float> part = data.subspan(shard.begin, shard.size);
    for (int rank = 0; rank < ring.world_size(); ++rank) {
      if (rank == owner) continue;
      if (ring.rank() == owner) ring.send(rank, part);
      if (ring.rank() == rank) ring.receive(owner, part);
    }
  }
}

}  // namespace zero::exercise
