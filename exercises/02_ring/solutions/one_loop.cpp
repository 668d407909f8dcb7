// One loop of 2(K-1) steps for all three: sums travel in its first half, averages in its second.
#include <memory>

#include "exercises/02_ring/api.h"

namespace zero::exercise {
namespace {

void walk(Ring& ring, std::span<float> data, int first, int last) {
  const int K = ring.world_size();
  const int me = ring.rank();
  const int next = me + 1 == K ? 0 : me + 1;
  const int before = me == 0 ? K - 1 : me - 1;
  auto scratch = std::make_unique<float[]>(ring.shard(0).size);
  int leaving = first < K - 1 ? before : me;  // the owner of what leaves
  for (int step = first; step < last; ++step) {
    const int arriving = leaving == 0 ? K - 1 : leaving - 1;
    const Shard out = ring.shard(leaving), in = ring.shard(arriving);
    float* const place = step < K - 1 ? scratch.get() : data.data() + in.begin;
    ring.exchange(next, {data.data() + out.begin, out.size}, before, {place, in.size});
    if (step < K - 1) {
      const float divisor = step == K - 2 ? static_cast<float>(K) : 1.0f;
      for (std::size_t i = 0; i < in.size; ++i) {
        data[in.begin + i] = (data[in.begin + i] + place[i]) / divisor;
      }
    }
    leaving = arriving;
  }
}

}  // namespace

void ring_reduce_scatter(Ring& ring, std::span<float> data) {
  walk(ring, data, 0, ring.world_size() - 1);
}

void ring_all_gather(Ring& ring, std::span<float> data) {
  walk(ring, data, ring.world_size() - 1, 2 * (ring.world_size() - 1));
}

void ring_all_reduce(Ring& ring, std::span<float> data) {
  walk(ring, data, 0, 2 * (ring.world_size() - 1));
}

}  // namespace zero::exercise
