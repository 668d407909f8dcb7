// Shards and pieces.
#include "common/comm/partition.h"

#include <fmt/format.h>

#include <stdexcept>

namespace zero {

std::int64_t Partition::padded_size(std::int64_t num_parameters, int world_size) {
  if (num_parameters < 0 || world_size < 1) {
    throw std::invalid_argument(
        fmt::format("cannot cut {} parameters into {} shards", num_parameters, world_size));
  }
  return (num_parameters + world_size - 1) / world_size * world_size;
}

Partition::Partition(std::int64_t num_parameters, int world_size)
    : Partition(Range{0, padded_size(num_parameters, world_size)}, world_size) {}

Partition::Partition(Range range, int world_size)
    : begin_(range.begin),
      shard_size_(world_size < 1 ? 0 : range.size() / world_size),
      world_size_(world_size) {
  if (world_size < 1 || range.size() < 0 || range.size() % world_size != 0) {
    throw std::invalid_argument(
        fmt::format("[{}, {}) has no {} equal shards", range.begin, range.end, world_size));
  }
}

std::vector<Piece> Partition::pieces(Range range) const {
  std::vector<Piece> result;
  if (range.empty()) return result;
  const int first = shard_size_ == 0 ? 0 : static_cast<int>((range.begin - begin_) / shard_size_);
  for (int owner = first; owner < world_size_ && shard(owner).begin < range.end; ++owner) {
    const Range piece = shard(owner).intersect(range);
    if (!piece.empty()) result.push_back({piece, owner});
  }
  return result;
}

}  // namespace zero
