// Works in chunks of a few elements, with a constant amount of memory for the sums.
#include <algorithm>
#include <array>

#include "exercises/03_same_bits/api.h"

namespace zero::exercise {

void reduce_in_rank_order(Inbox& inbox, std::span<Half> average) {
  constexpr std::size_t kChunk = 4;
  const auto K = static_cast<float>(inbox.world_size());
  for (int rank = inbox.world_size() - 1; rank >= 0; --rank) inbox.wait(rank);
  while (!average.empty()) {
    const std::size_t size = std::min(kChunk, average.size());
    const std::size_t done = inbox.size() - average.size();
    std::array<float, kChunk> sum{};
    for (int rank = 0; rank < inbox.world_size(); ++rank) {
      const auto from = inbox.contribution(rank).subspan(done, size);
      for (std::size_t i = 0; i < size; ++i) sum[i] += widen(from[i]);
    }
    for (std::size_t i = 0; i < size; ++i) average[i] = narrow<Half>(sum[i] / K);
    average = average.subspan(size);
  }
}

}  // namespace zero::exercise
