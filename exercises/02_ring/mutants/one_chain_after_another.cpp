// One owner's chain after the other: as many messages, but K(K-1) steps, and most ranks wait.
// rung: traffic
#include <vector>

#include "exercises/02_ring/api.h"

namespace zero::exercise {

void ring_reduce_scatter(Ring& ring, std::span<float> data) {
  const int K = ring.world_size(), rank = ring.rank();
  for (int owner = 0; owner < K; ++owner) {
    const Shard shard = ring.shard(owner);
    const std::span<float> own = data.subspan(shard.begin, shard.size);
    const int place = (rank - owner - 1 + K) % K;  // on the chain from owner + 1 to owner
    if (place > 0) {
      std::vector<float> sum(own.size());
      ring.receive((rank + K - 1) % K, sum);
      for (std::size_t i = 0; i < own.size(); ++i) own[i] += sum[i];
    }
    if (place < K - 1) ring.send((rank + 1) % K, own);
    if (rank == owner) {
      for (float& value : own) value /= static_cast<float>(K);
    }
  }
}

void ring_all_gather(Ring& ring, std::span<float> data) {
  const int K = ring.world_size(), rank = ring.rank();
  for (int owner = 0; owner < K; ++owner) {
    const Shard shard = ring.shard(owner);
    const std::span<float> part = data.subspan(shard.begin, shard.size);
    const int place = (rank - owner + K) % K;  // on the chain from owner to owner - 1
    if (place > 0) ring.receive((rank + K - 1) % K, part);
    if (place < K - 1) ring.send((rank + 1) % K, part);
  }
}

void ring_all_reduce(Ring& ring, std::span<float> data) {
  ring_reduce_scatter(ring, data);
  ring_all_gather(ring, data);
}

}  // namespace zero::exercise
