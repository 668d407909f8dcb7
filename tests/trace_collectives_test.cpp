// What the traces of the real collectives say, replayed by FORMAT.md's rules alone.
#include "catch.h"
#include "common/trace/match.h"
#include "tests/naive_replay.h"
#include "tests/support/files.h"
#include "tests/support/traced_collectives.h"

namespace zero {
namespace {

TEST_CASE("replayed, the collectives' traces give every value and every set of contributors") {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    for (const int K : {1, 2, 3, 4, 5, 8}) {
      const TemporaryFolder folder;
      const std::int64_t N = 6 * K + 1;  // shards of 7: two chunks, the second smaller
      run_collectives(folder.path(), algorithm, K, N);
      const RunTrace run = read_run(folder.path());
      INFO(to_string(algorithm) << ", " << K << " ranks");
      const Matched matched = match_messages(run);
      CHECK(matched.never_sent.empty());
      CHECK(matched.never_received.empty());
      for (const auto& [from, to] : matched.messages) {
        const auto& send = std::get<event::Send>(run.ranks[from.rank].events[from.index].what);
        const auto& got = std::get<event::Receive>(run.ranks[to.rank].events[to.index].what);
        CHECK(send.hop.range == got.hop.range);
        CHECK(send.hop.effect == got.hop.effect);
        CHECK(send.hop.steps == got.hop.steps);
        CHECK(send.bytes == got.bytes);
      }

      const NaiveReplay replay(run);
      if (K > 1) CHECK(replay.values_checked > 100);
      if (K > 2) CHECK(replay.sums_checked > 2 * K);
      const Partition partition(N, K);
      const std::uint64_t everyone = (std::uint64_t{1} << K) - 1;
      const double average = static_cast<float>(everyone) / static_cast<float>(K);
      for (int rank = 0; rank < K; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        const std::uint64_t self = std::uint64_t{1} << rank;
        for (std::int64_t i = 0; i < partition.all().end; ++i) {
          const auto at = static_cast<std::size_t>(i);
          const auto owner = static_cast<int>(i / partition.shard_size());
          INFO("rank " << rank << ", position " << i);
          REQUIRE(replay.last(r, "all_reduced")[at].ranks == everyone);
          REQUIRE(replay.last(r, "all_reduced")[at].value == average);
          REQUIRE(replay.last(r, "scattered")[at].ranks == (owner == rank ? everyone : self));
          REQUIRE(replay.last(r, "gathered")[at].ranks == std::uint64_t{1} << owner);
          REQUIRE(replay.last(r, "sent")[at].ranks == self);
          REQUIRE(replay.last(r, "whole")[at].ranks == everyone);
          REQUIRE(replay.last(r, "whole")[at].value == average);
        }
        for (const Cell& cell : replay.last(r, "shard")) REQUIRE(cell.ranks == everyone);
      }
    }
  }
}

}  // namespace
}  // namespace zero
