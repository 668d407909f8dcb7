// Shards, padding and pieces against a count position by position.
#include "common/comm/partition.h"

#include <stdexcept>

#include "catch.h"

namespace zero {
namespace {

TEST_CASE("shards are equal, cover everything once, and the padding is as small as can be") {
  for (int K = 1; K <= 8; ++K) {
    for (std::int64_t N = 0; N <= 3 * K + 1; ++N) {
      CAPTURE(K, N);
      const Partition partition(N, K);
      const std::int64_t padded = partition.all().end;
      std::int64_t smallest = N;
      while (smallest % K != 0) ++smallest;
      REQUIRE(padded == smallest);
      REQUIRE(Partition::padded_size(N, K) == smallest);
      REQUIRE(partition.all().begin == 0);
      REQUIRE(partition.world_size() == K);
      std::int64_t position = 0;
      for (int rank = 0; rank < K; ++rank) {
        REQUIRE(partition.shard(rank).begin == position);
        REQUIRE(partition.shard(rank).size() == partition.shard_size());
        position += padded / K;
      }
      REQUIRE(position == padded);
    }
  }
}

// Every range of every small partition, also one that does not begin at 0.
TEST_CASE("pieces are the range itself, cut where the owner changes") {
  const std::int64_t begin = GENERATE(0, 100);
  for (int K = 1; K <= 5; ++K) {
    for (std::int64_t size = 0; size <= 3 * K; size += K) {
      const Partition partition(Range{begin, begin + size}, K);
      for (std::int64_t from = begin; from <= begin + size; ++from) {
        for (std::int64_t to = from; to <= begin + size; ++to) {
          CAPTURE(K, size, from, to);
          std::int64_t position = from;
          int last_owner = -1;
          for (const Piece& piece : partition.pieces({from, to})) {
            REQUIRE(piece.range.begin == position);
            REQUIRE(!piece.range.empty());
            REQUIRE(piece.owner > last_owner);
            for (; position < piece.range.end; ++position) {
              REQUIRE(piece.owner == static_cast<int>((position - begin) * K / size));
            }
            last_owner = piece.owner;
          }
          REQUIRE(position == to);
        }
      }
    }
  }
}

TEST_CASE("a partition that cannot be is refused") {
  CHECK_THROWS_AS(Partition(-1, 2), std::invalid_argument);
  CHECK_THROWS_AS(Partition(4, 0), std::invalid_argument);
  CHECK_THROWS_AS(Partition(Range{0, 7}, 3), std::invalid_argument);
  CHECK_THROWS_AS(Partition(Range{3, 0}, 3), std::invalid_argument);
}

}  // namespace
}  // namespace zero
