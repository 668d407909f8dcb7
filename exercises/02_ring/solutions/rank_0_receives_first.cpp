// Only rank 0 receives before it sends, which is enough; and nothing is sent that is empty.
#include <array>
#include <cstring>
#include <vector>

#include "exercises/02_ring/api.h"

namespace zero::exercise {
namespace {

using Floats = std::span<float>;

std::vector<Floats> shards_of(const Ring& ring, Floats data) {
  std::vector<Floats> shards;
  for (int rank = 0; rank < ring.world_size(); ++rank) {
    const Shard shard = ring.shard(rank);
    shards.push_back(data.subspan(shard.begin, shard.size));
  }
  return shards;
}

void send(Ring& ring, Floats out) {
  if (!out.empty()) ring.send((ring.rank() + 1) % ring.world_size(), out);
}
void receive(Ring& ring, Floats in) {
  if (!in.empty()) ring.receive((ring.rank() + ring.world_size() - 1) % ring.world_size(), in);
}

// What leaves is put aside first, so that rank 0 may receive to where it was.
void shift(Ring& ring, Floats out, Floats in, std::vector<float>& aside) {
  if (ring.rank() > 0) {
    send(ring, out);
    receive(ring, in);
    return;
  }
  aside.assign(out.begin(), out.end());
  receive(ring, in);
  send(ring, aside);
}

}  // namespace

void ring_reduce_scatter(Ring& ring, std::span<float> data) {
  const auto shards = shards_of(ring, data);
  const std::size_t K = shards.size(), me = static_cast<std::size_t>(ring.rank());
  std::vector<float> partial;  // the sum under way, with the own values
  partial.reserve(ring.shard(0).size);
  for (std::size_t back = 1; back < K; ++back) {
    const Floats leaving = shards[(me + K - back) % K];
    const Floats own = shards[(me + 2 * K - back - 1) % K];
    if (back == 1) partial.assign(leaving.begin(), leaving.end());
    // Rank 0 puts the sum that leaves where its own values were: these have been added.
    if (ring.rank() > 0) {
      send(ring, partial);
      partial.resize(own.size());
      receive(ring, partial);
    } else {
      std::memcpy(leaving.data(), partial.data(), leaving.size_bytes());
      partial.resize(own.size());
      receive(ring, partial);
      send(ring, leaving);
    }
    for (std::size_t i = 0; i < own.size(); ++i) partial[i] += own[i];
  }
  if (K == 1) return;
  for (std::size_t i = 0; i < shards[me].size(); ++i) {
    shards[me][i] = partial[i] / static_cast<float>(K);
  }
}

void ring_all_gather(Ring& ring, std::span<float> data) {
  const auto shards = shards_of(ring, data);
  const std::size_t K = shards.size(), me = static_cast<std::size_t>(ring.rank());
  std::vector<float> aside;
  for (std::size_t back = 0; back + 1 < K; ++back) {
    shift(ring, shards[(me + K - back) % K], shards[(me + 2 * K - back - 1) % K], aside);
  }
}

void ring_all_reduce(Ring& ring, std::span<float> data) {
  ring_reduce_scatter(ring, data);
  ring_all_gather(ring, data);
}

}  // namespace zero::exercise
