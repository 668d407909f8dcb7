// Who owns which part of the flat parameter vector: K equal shards, padded at the end.
#pragma once

#include <cstdint>
#include <vector>

#include "common/memory/range.h"

namespace zero {

// Consecutive positions that have one owner.
struct Piece {
  Range range;
  int owner = 0;
};

class Partition {
 public:
  // The positions [0, N padded) of a model. num_parameters >= 0, world_size >= 1;
  // std::invalid_argument otherwise.
  Partition(std::int64_t num_parameters, int world_size);

  // Any range that world_size divides; std::invalid_argument otherwise.
  Partition(Range range, int world_size);

  // The smallest multiple of world_size that holds num_parameters: the only place that computes
  // padding.
  static std::int64_t padded_size(std::int64_t num_parameters, int world_size);

  Range all() const { return {begin_, begin_ + shard_size_ * world_size_}; }  // with the padding
  std::int64_t shard_size() const { return shard_size_; }                     // elements
  int world_size() const { return world_size_; }

  // Shard r begins at r * shard_size. Padding may fill several shards (K > N).
  Range shard(int rank) const {
    return {begin_ + rank * shard_size_, begin_ + (rank + 1) * shard_size_};
  }

  // `range` cut at the shards' borders, in order of position; a unit may straddle any number of
  // shards.
  std::vector<Piece> pieces(Range range) const;

 private:
  std::int64_t begin_ = 0;
  std::int64_t shard_size_;
  int world_size_;
};

}  // namespace zero
