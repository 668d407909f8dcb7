// Ranks on emulated GPUs: collectives over NCCL's stand-in and through the host against those on
// the CPU, and what happens when a rank fails while others wait for it on their GPUs.
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>

#include "catch.h"
#include "common/comm/threads.h"
#include "tests/gpu_collectives.h"
#include "tests/support/thread_ranks.h"

namespace zero::test {
namespace {

// Unless ctest or somebody says otherwise: enough GPUs, and streams that the failures need.
[[maybe_unused]] const int kSettings =
    setenv("EMU_DEVICES", "5", 0) + setenv("EMU_STREAMS", "threads", 0);

constexpr std::array kDtypes = {Dtype::fp32, Dtype::fp16, Dtype::bf16};

std::vector<Failure> run(int K, const std::function<void(Transport&)>& program,
                         double timeout = 60) {
  return run_ranks(K, timeout, program);
}

void require_success(const std::vector<Failure>& failures) {
  for (const Failure& failure : failures) {
    FAIL("rank " << failure.rank << ": " << failure.message);
  }
}

bool says(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (message.find(part) == std::string::npos) return false;
  }
  return true;
}

// What every rank holds and has sent.
std::vector<Outcome> outcomes(int K, Carrier carrier, Algorithm algorithm, Dtype dtype,
                              std::int64_t N, std::int64_t chunk) {
  std::vector<Outcome> all(static_cast<std::size_t>(K));
  require_success(run(K, [&](Transport& host) {
    GpuMember member(host, carrier, algorithm, dtype, chunk);
    all[static_cast<std::size_t>(host.rank())] = outcome(member, N);
  }));
  return all;
}

void same_as_on_the_host(Carrier carrier) {
  for (const int K : {2, 3, 5}) {
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
      for (const Dtype dtype : kDtypes) {
        for (const auto& [N, chunk] : {std::pair<int, int>{97, 7}, {331, 64}, {K - 1, 2}}) {
          INFO("K = " << K << ", " << to_string(algorithm) << ", " << to_string(dtype)
                      << ", N = " << N << ", chunks of " << chunk);
          const auto expected = outcomes(K, Carrier::host, algorithm, dtype, N, chunk);
          CHECK(outcomes(K, carrier, algorithm, dtype, N, chunk) == expected);
        }
      }
    }
  }
}

TEST_CASE("NCCL carries what the host carries: the same bits, the same bytes", "[collectives]") {
  same_as_on_the_host(Carrier::nccl);
}

TEST_CASE("NCCL carries long messages, too: those that no buffer on the way can hold",
          "[collectives]") {
  const auto all = [](Carrier carrier) {
    return outcomes(3, carrier, Algorithm::ring, Dtype::bf16, 100'000, kChunk);
  };
  CHECK(all(Carrier::nccl) == all(Carrier::host));
}

TEST_CASE("tensors of GPUs go through the host with the same bits", "[collectives]") {
  same_as_on_the_host(Carrier::staged);
}

TEST_CASE("ranks that share a GPU get the same bits", "[collectives]") {
  same_as_on_the_host(Carrier::staged_one);
}

TEST_CASE("over NCCL every rank sends the closed form's bytes", "[collectives][quick]") {
  const Algorithm algorithm = GENERATE(Algorithm::ring, Algorithm::direct);
  require_success(run(3, [&](Transport& host) {
    GpuMember member(host, Carrier::nccl, algorithm, Dtype::fp16, 7);
    const Partition partition(100, 3);
    const std::int64_t share = partition.shard_size() * 2 * bytes_of(Dtype::fp16);
    Buffer buffer = member.filled(partition.all());
    member.comm->all_reduce(buffer, partition);
    const std::int64_t all_reduce = member.comm->tensor_bytes_sent();
    member.comm->all_gather(buffer, partition);
    const std::int64_t both = member.comm->tensor_bytes_sent();
    if (all_reduce != 2 * share || both != 3 * share) throw std::logic_error("other bytes");
  }));
}

TEST_CASE("NCCL's own collectives average, and touch nothing else", "[collectives]") {
  const int K = GENERATE(2, 3, 5);
  for (const Dtype dtype : kDtypes) {
    for (const int N : {K - 1, 97, 331}) {
      require_success(run(K, [&](Transport& host) {
        GpuMember member(host, Carrier::nccl, Algorithm::library, dtype, 7);
        check_library(member, N, tolerance_of(dtype));
      }));
    }
  }
}

// Whoever counts on it would be wrong with NCCL, which chooses another order for either.
TEST_CASE("an all_reduce of the library is not its reduce_scatter and all_gather",
          "[collectives][quick]") {
  const int K = GENERATE(2, 3);
  bool same = true;
  require_success(run(K, [&](Transport& host) {
    GpuMember member(host, Carrier::nccl, Algorithm::library, Dtype::fp32, kChunk);
    const Partition partition(1009, K);
    Buffer at_once = member.filled(partition.all());
    Buffer in_two = member.filled(partition.all());
    member.comm->all_reduce(at_once, partition);
    member.comm->reduce_scatter(in_two, partition);
    member.comm->all_gather(in_two, partition);
    if (host.rank() == 0) same = member.bits(at_once) == member.bits(in_two);
  }));
  CHECK(same == (K == 2));
}

TEST_CASE("the scratch of the library does not grow with what it reduces", "[collectives][quick]") {
  for (const Dtype dtype : kDtypes) {
    require_success(run(3, [&](Transport& host) {
      GpuMember member(host, Carrier::nccl, Algorithm::library, dtype, 16);
      const std::int64_t before = member.tracker.live(Memory::communication);
      const Partition partition(1000, 3);
      member.comm->all_reduce(member.filled(partition.all()), partition);
      if (member.tracker.live(Memory::communication) != before || before > 16 * 4 ||
          member.tracker.peak(Memory::communication) != before) {
        throw std::logic_error("scratch has grown");
      }
    }));
  }
}

TEST_CASE("two ranks on one GPU are refused, and both GPUs' ranks end", "[collectives][quick]") {
  const auto failures = run(3, [&](Transport& host) {
    Place place;
    MemoryTracker tracker{place};
    const auto device =
        gpu_module().make_device(tracker, nullptr, true, host.rank(), host.rank() / 2);
    gpu_module().make_nccl_transport(host, *device, 60);
  });
  REQUIRE(failures.size() == 3);
  INFO(failures[0].message);
  CHECK(says(failures[0].message, {"rank ", "making the NCCL communicator", "invalid usage",
                                   "rank 0 and rank 1 both on CUDA device"}));
}

// ---- failures
// ------------------------------------------------------------------------------------ The streams
// have threads of their own, and so, as on a GPU, wait on while the host goes on.

// Throws when another rank has failed.
void pause(Transport& transport) {
  transport.check_peers(nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

// Until another rank has failed.
void be_late(Transport& transport) {
  for (;;) pause(transport);
}

// Rank 1 of 3 does `other` where the others wait, on their GPUs, for a message of it.
std::vector<Failure> waiting_for_rank_1(const std::function<void(GpuMember&)>& other,
                                        double timeout = 20) {
  std::atomic<int> waiting = 0;
  return run(
      3,
      [&](Transport& host) {
        GpuMember member(host, Carrier::nccl, Algorithm::ring, Dtype::fp32, 16, timeout);
        const Partition partition(100, 3);
        Buffer buffer = member.filled(partition.all());
        member.comm->all_reduce(buffer, partition);
        member.device->synchronize();
        if (host.rank() == 1) {
          while (waiting < 2) pause(host);
          return other(member);
        }
        Hop hop;
        hop.collective = 2;
        hop.name = "all_gather";
        hop.algorithm = "ring";
        hop.source = 1;
        hop.destination = host.rank();
        member.transport->receive(hop, buffer[partition.shard(1)]);
        ++waiting;
        member.device->synchronize();
      },
      timeout);
}

TEST_CASE("a rank that throws ends those whose GPUs wait for it", "[failures]") {
  const auto failures =
      waiting_for_rank_1([](GpuMember&) { throw std::runtime_error("broken on purpose"); });
  REQUIRE(failures.size() == 3);
  CHECK(failures[0].message == "broken on purpose");
  for (const std::size_t other : {1, 2}) {
    INFO(failures[other].message);
    CHECK(failures[other].aborted);
    CHECK(says(failures[other].message, {"all_gather (ring, collective 2", "since rank 1 failed"}));
  }
}

TEST_CASE("a rank that throws while its own GPU waits ends, too", "[failures]") {
  const auto failures = waiting_for_rank_1([](GpuMember& member) {
    Buffer never = member.garbage({0, 10});
    Hop hop;
    hop.source = 2;
    hop.destination = 1;
    member.transport->receive(hop, never);
    throw std::runtime_error("broken on purpose");
  });
  REQUIRE(failures.size() == 3);
  CHECK(failures[0].message == "broken on purpose");
  CHECK(failures[1].aborted);
  CHECK(failures[2].aborted);
}

TEST_CASE("who waits on the GPU for a rank that never comes gives up in time", "[failures]") {
  const auto failures = waiting_for_rank_1([](GpuMember& m) { be_late(*m.transport); }, 1);
  REQUIRE(failures.size() == 3);
  INFO(failures[0].message);
  CHECK(!failures[0].aborted);
  CHECK(says(failures[0].message, {"rank ",
                                   ", all_gather (ring, collective 2, step 1 of 1): "
                                   "nothing from rank 1 for 1 seconds"}));
}

// Rank 1 has NCCL's number of the group, and does not come.
TEST_CASE("a communicator that one rank does not join is given up in time", "[failures]") {
  const bool throws = GENERATE(true, false);
  const auto failures = run(3, [&](Transport& host) {
    Place place;
    MemoryTracker tracker{place};
    const auto device = gpu_module().make_device(tracker, nullptr, true, host.rank(), host.rank());
    if (host.rank() != 1) {
      gpu_module().make_nccl_transport(host, *device, throws ? 60 : 1);
      return;
    }
    const std::array<std::byte, 128> mine{};
    std::array<std::byte, 3 * 128> all{};
    host.all_gather_scalars(mine, all);
    if (throws) throw std::runtime_error("broken on purpose");
    be_late(host);
  });
  REQUIRE(failures.size() == 3);
  INFO(failures[throws ? 1 : 0].message);
  if (throws) {
    CHECK(failures[1].aborted);
    CHECK(says(failures[1].message, {"making the NCCL communicator", "since rank 1 failed"}));
  } else {
    CHECK(says(failures[0].message,
               {"making the NCCL communicator", "nothing from the other ranks for 1 seconds"}));
  }
}

TEST_CASE("a rank that fails at the end does not hold up those that are done", "[failures]") {
  const auto failures = run(3, [&](Transport& host) {
    GpuMember member(host, Carrier::nccl, Algorithm::ring, Dtype::fp32, 16);
    const Partition partition(100, 3);
    Buffer buffer = member.filled(partition.all());
    member.comm->all_reduce(buffer, partition);
    if (host.rank() != 1) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the others wait at their ends
    throw std::runtime_error("broken on purpose");
  });
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].message == "broken on purpose");
}

TEST_CASE("more messages than a stream takes come through", "[failures]") {
  require_success(run(2, [&](Transport& host) {
    GpuMember member(host, Carrier::nccl, Algorithm::ring, Dtype::fp32, 1);
    const Partition partition(700, 2);
    Buffer buffer = member.filled(partition.all());
    member.comm->all_gather(buffer, partition);
    const std::vector<float> values = member.values(buffer);
    for (std::int64_t i = 0; i < 700; ++i) {
      const int owner = static_cast<int>(i / partition.shard_size());
      if (values[static_cast<std::size_t>(i)] != contribution(owner, i, Dtype::fp32)) {
        throw std::logic_error("a message is wrong");
      }
    }
  }));
}

TEST_CASE("ranks on GPUs that call different things get a message", "[failures]") {
  const auto failures = run(3, [&](Transport& host) {
    GpuMember member(host, Carrier::nccl, Algorithm::ring, Dtype::fp32, 16);
    const Partition partition(100, 3);
    Buffer buffer = member.filled(partition.all());
    member.comm->all_reduce(buffer, partition);
    if (host.rank() == 1) member.comm->reduce_scatter(buffer, partition);
    else member.comm->all_reduce(buffer, partition);
    member.device->synchronize();
  });
  REQUIRE(failures.size() == 3);
  INFO(failures[0].message);
  CHECK(!failures[0].aborted);
  CHECK(says(failures[0].message, {"collective 2", "all_reduce", "reduce_scatter", "expected"}));
}

}  // namespace
}  // namespace zero::test
