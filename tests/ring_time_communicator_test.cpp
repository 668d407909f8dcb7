// The ring's collectives in closed form against the ring itself, both on simulated ranks.
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include "catch.h"
#include "common/comm/algorithms.h"
#include "common/comm/ring_time.h"
#include "common/comm/simulated.h"
#include "common/device/simulated/simulated_device.h"
#include "common/trace/reader.h"
#include "tests/support/files.h"

namespace zero {
namespace {

// One simulated rank, and the two communicators that it may have.
struct Member {
  Member(Transport& transport, bool closed_form, std::int64_t chunk, Dtype dtype)
      : simulated(dynamic_cast<SimulatedTransport&>(transport)),
        device(make_simulated_device(tracker, &trace, simulated.hardware().gpu,
                                     transport.world_size(), *transport.virtual_clock())),
        wire(dtype) {
    comm = closed_form ? make_ring_time_communicator(simulated, *device, trace, wire, chunk)
                       : make_ring_communicator(simulated, *device, trace, wire, chunk);
  }
  Buffer buffer(Range range) { return device->allocate(Memory::gradients, "test", wire, range); }

  Place place;
  MemoryTracker tracker{place};
  Trace trace{place};
  SimulatedTransport& simulated;
  std::unique_ptr<Device> device;
  Dtype wire;
  std::unique_ptr<Communicator> comm;
};

// What a cluster does, and what came of it.
struct Run {
  Hardware hardware;
  int K = 1;
  std::int64_t chunk = 1;
  Dtype wire = Dtype::fp32;
};
struct Outcome {
  Picoseconds last = 0;                      // when the last rank was done
  std::vector<std::int64_t> bytes, scratch;  // of each rank
};
using Program = std::function<void(Member&)>;

Outcome run(const Run& run, bool closed_form, const Program& program) {
  Outcome outcome;
  outcome.bytes.resize(static_cast<std::size_t>(run.K));
  outcome.scratch.resize(static_cast<std::size_t>(run.K));
  const int status =
      run_on_simulated_cluster(run.hardware, run.K, false, [&](Transport& transport) {
        Member member(transport, closed_form, run.chunk, run.wire);
        program(member);
        const auto rank = static_cast<std::size_t>(transport.rank());
        outcome.last = std::max(outcome.last, transport.virtual_clock()->now());
        outcome.bytes[rank] = transport.tensor_bytes_sent();
        outcome.scratch[rank] = member.tracker.peak(Memory::communication);
      });
  if (status != 0) throw std::runtime_error("a rank failed");
  return outcome;
}

void check(const Run& what, const Program& program) {
  const Outcome ring = run(what, false, program);
  const Outcome closed = run(what, true, program);
  CHECK(closed.last == ring.last);
  CHECK(closed.bytes == ring.bytes);
  CHECK(closed.scratch == ring.scratch);
}

// Additions take about as long as messages.
const Gpu kGpu{.name = "test",
               .memory = 1'000'000,
               .bandwidth = 3e8,
               .half_flops = 1e12,
               .bf16_flops = 1e12,
               .fp32_flops = 1e12,
               .launch_seconds = 1e-9};
const Link kInside{"inside", 1e-7, 3e8};
const Link kAcross{"across", 5e-7, 1e8};

std::vector<Run> runs(Dtype wire) {
  std::vector<Run> all;
  for (int K = 1; K <= 16; ++K) {
    for (const int gpus_per_node : {1, 2, 3, 5, 8, K}) {
      const Hardware hardware{kGpu, kInside, kAcross, gpus_per_node};
      for (const std::int64_t chunk : {3, 8}) all.push_back({hardware, K, chunk, wire});
    }
  }
  return all;
}

TEST_CASE("collectives of all ranks take as long and send as much as the ring's") {
  for (const Run& what : runs(Dtype::fp32)) {
    CAPTURE(what.K, what.hardware.gpus_per_node, what.chunk);
    for (const int N : {0, 1, 8 * what.K, 13 * what.K - 1}) {
      CAPTURE(N);
      const Partition partition(N, what.K);
      check(what, [&](Member& member) {
        member.comm->all_reduce(member.buffer(partition.all()), partition);
      });
      check(what, [&](Member& member) {
        member.comm->reduce_scatter(member.buffer(partition.all()), partition);
      });
      check(what, [&](Member& member) {
        member.comm->all_gather(member.buffer(partition.all()), partition);
      });
    }
  }
}

TEST_CASE("collectives with an owner take as long and send as much as the ring's") {
  for (const Run& what : runs(Dtype::fp16)) {
    for (const int owner : {0, what.K / 2, what.K - 1}) {
      CAPTURE(what.K, what.hardware.gpus_per_node, what.chunk, owner);
      const Piece piece{{100, 123}, owner};
      check(what, [&](Member& member) {
        const Buffer send = member.buffer({90, 130});
        const Buffer receive = member.buffer({100, 130});
        member.comm->reduce(send, receive, piece);
      });
      check(what, [&](Member& member) {
        const Buffer both = member.buffer({90, 130});
        member.comm->reduce(both, both, piece);
      });
      check(what, [&](Member& member) {
        const Buffer both = member.buffer({90, 130});
        member.comm->broadcast(both, both, piece);
      });
      check(what, [&](Member& member) {
        const bool owns = member.comm->rank() == owner;
        const Buffer send = member.buffer(owns ? piece.range : Range{0, 0});
        const Buffer receive = member.buffer({90, 130});
        member.comm->broadcast(send, receive, piece);
      });
    }
  }
}

// The owner's copy of a large piece takes longer than the last chunk's way around the ring.
TEST_CASE("a broadcast ends no sooner than the owner has copied its own values") {
  Gpu slow = kGpu;
  slow.bandwidth = 1e6;
  const Run what{{slow, kInside, kAcross, 2}, 5, 8, Dtype::fp32};
  const Piece piece{{0, 99}, 3};
  const auto program = [&](Member& member, bool in_place) {
    const Buffer send = member.buffer(piece.range);
    const Buffer receive = member.buffer(piece.range);
    member.comm->broadcast(in_place ? receive : send, receive, piece);
  };
  check(what, [&](Member& member) { program(member, true); });
  check(what, [&](Member& member) { program(member, false); });
  const Outcome in_place = run(what, true, [&](Member& member) { program(member, true); });
  const Outcome copied = run(what, true, [&](Member& member) { program(member, false); });
  CHECK(copied.last > in_place.last);
}

// Sizes that neither 5 ranks nor chunks of 8 divide, and ranks on nodes of 3 and 2.
TEST_CASE("rank 0 alone, which stands for all, is done when all ranks would be") {
  const Hardware hardware{kGpu, kInside, kAcross, 3};
  const int K = 5;
  const Partition partition(99, K);
  std::vector<Picoseconds> done(2);
  std::vector<std::int64_t> bytes(2);
  for (const bool representative : {false, true}) {
    const int status =
        run_on_simulated_cluster(hardware, K, representative, [&](Transport& transport) {
          Member member(transport, true, 8, Dtype::fp32);
          const Buffer all = member.buffer(partition.all());
          const Buffer shard = member.buffer(partition.shard(transport.rank()));
          member.comm->all_reduce(all, partition);
          member.comm->reduce_scatter(all, partition);
          member.comm->all_gather(all, partition);
          for (const Piece& piece : partition.pieces({7, 90})) {
            member.comm->broadcast(shard, all, piece);
            member.comm->reduce(all, shard, piece);
          }
          if (transport.rank() > 0) return;
          done[representative] = transport.virtual_clock()->now();
          bytes[representative] = transport.tensor_bytes_sent();
        });
    REQUIRE(status == 0);
  }
  CHECK(done[0] > 0);
  CHECK(done[0] == done[1]);
  CHECK(bytes[0] == bytes[1]);
}

TEST_CASE("the trace tells what every rank gets, once for each collective") {
  const TemporaryFolder folder;
  const int K = 3;
  const Partition partition(14, K);  // shards of 5
  const Run what{{kGpu, kInside, kAcross, 2}, K, 4, Dtype::fp32};
  run(what, true, [&](Member& member) {
    TraceHeader header;
    header.run = "closed form";
    header.rank = member.comm->rank();
    header.world_size = K;
    header.dtype = "fp32";
    header.num_parameters = 14;
    header.padded_parameters = 15;
    for (int rank = 0; rank < K; ++rank) {
      header.shards.push_back({std::to_string(rank), partition.shard(rank)});
    }
    member.trace.open(folder.path(), header, 0, false, member.device->make_clock());
    const Buffer all = member.buffer(partition.all());
    const Piece piece{{2, 9}, 1};
    member.comm->all_reduce(all, partition);
    member.comm->reduce_scatter(all, partition);
    member.comm->all_gather(all, partition);
    member.comm->reduce(all, all, piece);
    member.comm->broadcast(all, all, piece);
    member.trace.close();
  });
  for (const RankTrace& rank : read_run(folder.path()).ranks) {
    const int self = rank.header.rank;
    CAPTURE(self);
    std::vector<event::Library> told;
    for (const TraceEvent& event : rank.events) {
      const auto* library = std::get_if<event::Library>(&event.what);
      if (library) told.push_back(*library);
      CHECK_FALSE(std::holds_alternative<event::Send>(event.what));
      CHECK_FALSE(std::holds_alternative<event::Receive>(event.what));
    }
    REQUIRE(told.size() == (self == 1 ? 5 : 4));
    CHECK(told[0].name == "all_reduce");
    CHECK(told[0].parts.at(0).range == Range{0, 15});
    CHECK(told[0].parts.at(0).from == std::vector<int>{0, 1, 2});
    CHECK(told[1].name == "reduce_scatter");
    CHECK(told[1].parts.at(0).range == partition.shard(self));
    CHECK(told[1].average);
    CHECK(told[2].name == "all_gather");
    CHECK(told[2].parts.size() == 3);
    CHECK_FALSE(told[2].average);
    if (self == 1) {
      CHECK(told[3].name == "reduce");
      CHECK(told[3].parts.at(0).range == Range{2, 9});
    }
    CHECK(told.back().name == "broadcast");
    CHECK(told.back().parts.at(0).range == Range{2, 9});
    CHECK(told.back().parts.at(0).from == std::vector<int>{1});
  }
}

}  // namespace
}  // namespace zero
