// Sends the whole sum once around the ring and once more for the result: K times as many bytes.
// rung: traffic
#include <vector>

#include "exercises/02_ring/api.h"

namespace zero::exercise {

void ring_all_reduce(Ring& ring, std::span<float> data) {
  const int K = ring.world_size(), rank = ring.rank();
  if (K == 1) return;
  const int next = (rank + 1) % K, previous = (rank + K - 1) % K;
  if (rank > 0) {
    std::vector<float> sum(data.size());
    ring.receive(previous, sum);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] += sum[i];
  }
  if (rank == K - 1) {
    for (float& value : data) value /= static_cast<float>(K);
  }
  ring.send(next, data);
  if (rank == 0) ring.receive(previous, data);
  if (rank > 0 && rank < K - 1) ring.receive(previous, data);
  if (rank < K - 2) ring.send(next, data);
}

void ring_reduce_scatter(Ring& ring, std::span<float> data) { ring_all_reduce(ring, data); }

void ring_all_gather(Ring& ring, std::span<float> data) {
  const int K = ring.world_size();
  for (int step = 1; step < K; ++step) {
    const Shard out = ring.shard((ring.rank() + 1 - step + K) % K);
    const Shard in = ring.shard((ring.rank() - step + K) % K);
    ring.exchange((ring.rank() + 1) % K, data.subspan(out.begin, out.size),
                  (ring.rank() + K - 1) % K, data.subspan(in.begin, in.size));
  }
}

}  // namespace zero::exercise
