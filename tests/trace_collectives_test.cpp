// What the traces of the real collectives say, replayed by FORMAT.md's rules alone.
#include <cmath>
#include <string>

#include "catch.h"
#include "common/comm/communicator.h"
#include "common/comm/world.h"
#include "common/trace/match.h"
#include "tests/naive_replay.h"
#include "tests/plain_device.h"
#include "tests/small_run.h"

namespace zero {
namespace {

// Every collective once, with gradients 2^rank in fp32, so that each sum is a set of ranks.
void run_collectives(const std::string& directory, Algorithm algorithm, int K, std::int64_t N) {
  const int status = run_on_threads(K, 60, [&](Transport& transport) {
    Place place;
    MemoryTracker tracker(place);
    Trace trace(place);
    TraceHeader header;
    header.rank = transport.rank();
    header.world_size = K;
    header.dtype = "fp32";
    header.num_parameters = N;
    header.padded_parameters = Partition::padded_size(N, K);
    trace.open(directory, header, 0, true);
    PlainDevice device(tracker, transport.rank(), &trace);
    const auto comm =
        make_communicator(algorithm, transport, device, trace, Dtype::fp32, /*chunk=*/4);
    const Partition partition(N, K);
    const Range mine = partition.shard(transport.rank());
    const auto gradients = [&](const char* name) {
      Buffer buffer = device.allocate(Memory::gradients, name, Dtype::fp32, partition.all());
      for (std::int64_t i = 0; i < buffer.view().size(); ++i) {
        buffer.view().as<float>()[i] = std::ldexp(1.0f, transport.rank());
      }
      device.wrote(buffer, Written::local_gradient);
      return buffer;
    };

    const Buffer all_reduced = gradients("all_reduced");
    comm->all_reduce(all_reduced, partition);
    const Buffer scattered = gradients("scattered");
    comm->reduce_scatter(scattered, partition);
    const Buffer gathered = gradients("gathered");
    comm->all_gather(gathered, partition);
    const Buffer sent = gradients("sent");
    const Buffer shard = device.allocate(Memory::gradients, "shard", Dtype::fp32, mine);
    const Buffer whole = device.allocate(Memory::temporary, "whole", Dtype::fp32, partition.all());
    for (const Piece& piece : partition.pieces(partition.all())) {
      comm->reduce(sent, shard, piece);
      comm->broadcast(shard, whole, piece);
    }
  });
  REQUIRE(status == 0);
}

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
