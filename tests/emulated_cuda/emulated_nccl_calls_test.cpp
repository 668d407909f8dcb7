// The stand-in for NCCL by itself: what its operations do, in which order it adds, what it refuses,
// and that what is in progress really is.
#include <nccl.h>

#include <array>
#include <functional>
#include <thread>
#include <vector>

#include "catch.h"
#include "common/memory/dtype.h"
#include "tests/support/process.h"

namespace zero {
namespace {

using Values = std::vector<float>;

// One rank on a GPU of its own, with a buffer of 100 floats.
struct Gpu {
  Gpu(int rank, int ranks, ncclUniqueId id, bool blocking = true) {
    cudaSetDevice(rank);
    cudaMalloc(&data, 100 * sizeof(float));
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = blocking ? 1 : 0;
    result = ncclCommInitRankConfig(&comm, ranks, id, rank, &config);
  }
  ~Gpu() {
    cudaStreamSynchronize(stream);
    if (comm) ncclCommAbort(comm);
    cudaStreamDestroy(stream);
    cudaFree(data);
  }

  // In the stream that reads it: a copy in another one could still be on its way then.
  void fill(const Values& values) {
    cudaMemcpyAsync(data, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice,
                    stream);
  }
  Values read(std::size_t count) {
    cudaStreamSynchronize(stream);
    Values values(count);
    cudaMemcpy(values.data(), data, count * sizeof(float), cudaMemcpyDeviceToHost);
    return values;
  }
  // Looks until nothing is in progress; returns how often it was.
  int settle() {
    for (int looks = 0;; ++looks) {
      ncclCommGetAsyncError(comm, &result);
      if (result != ncclInProgress) return looks;
    }
  }

  float* data = nullptr;
  cudaStream_t stream = nullptr;
  ncclComm_t comm = nullptr;
  ncclResult_t result = ncclSuccess;
};

void on_ranks(int K, const std::function<void(int rank, ncclUniqueId id)>& program) {
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < K; ++rank) ranks.emplace_back(program, rank, id);
  for (std::thread& rank : ranks) rank.join();
}

// Alone, so that it can check what it is told on Catch's own thread.
Gpu alone(bool blocking = true) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  return Gpu(0, 1, id, blocking);
}

TEST_CASE("A ring's order: the rank after the owner first, the owner last, each sum rounded") {
  // In fp32, 1 + 2^-24 + 2^-24 is 1 or 1 + 2^-23: the order shows.
  const std::array<float, 3> g = {0x1p-24f, 1.0f, 0x1p-24f};
  std::array<float, 3> scattered{}, reduced{};
  on_ranks(3, [&](int rank, ncclUniqueId id) {
    Gpu gpu(rank, 3, id);
    const auto own = static_cast<std::size_t>(rank);
    gpu.fill({g[own], g[own], g[own]});
    ncclReduceScatter(gpu.data, gpu.data + rank, 1, ncclFloat32, ncclSum, gpu.comm, gpu.stream);
    scattered[own] = gpu.read(3)[own];
    gpu.fill({g[own]});
    for (int root = 0; root < 3; ++root) {
      ncclReduce(gpu.data, gpu.data + 1, 1, ncclFloat32, ncclSum, root, gpu.comm, gpu.stream);
      if (root == rank) reduced[own] = gpu.read(2)[1];
    }
  });
  for (std::size_t o = 0; o < 3; ++o) {
    const float sum = (g[(o + 1) % 3] + g[(o + 2) % 3]) + g[o];
    CHECK(scattered[o] == sum);
    CHECK(reduced[o] == sum);
  }
  CHECK(scattered[1] != scattered[0]);
}

TEST_CASE("What is gathered and broadcast is what the others have") {
  std::array<Values, 3> gathered, got;
  on_ranks(3, [&](int rank, ncclUniqueId id) {
    Gpu gpu(rank, 3, id);
    const auto own = static_cast<std::size_t>(rank);
    gpu.fill(Values(6, static_cast<float>(rank)));
    ncclAllGather(gpu.data + 2 * rank, gpu.data, 2, ncclFloat32, gpu.comm, gpu.stream);
    gathered[own] = gpu.read(6);
    ncclBroadcast(gpu.data + 2, gpu.data + 10, 2, ncclFloat32, 1, gpu.comm, gpu.stream);
    got[own] = gpu.read(12);
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(gathered[rank] == Values{0, 0, 1, 1, 2, 2});
    CHECK((got[rank][10] == 1 && got[rank][11] == 1));
  }
}

TEST_CASE("Nothing is in the stream before somebody has looked") {
  bool early = false, late = false, refused = false;
  int waits = 0;
  on_ranks(2, [&](int rank, ncclUniqueId id) {
    Gpu gpu(rank, 2, id, false);
    if (gpu.result != ncclInProgress) return;
    gpu.settle();
    for (int round = 0; round < 3; ++round) {
      gpu.fill({static_cast<float>(10 * round + rank)});
      ncclGroupStart();
      if (rank == 0) ncclSend(gpu.data, 1, ncclFloat32, 1, gpu.comm, gpu.stream);
      else ncclRecv(gpu.data, 1, ncclFloat32, 0, gpu.comm, gpu.stream);
      const ncclResult_t ended = ncclGroupEnd();
      if (rank == 1 && ended == ncclInProgress) {
        ++waits;
        early |= gpu.read(1)[0] == static_cast<float>(10 * round);
        const ncclResult_t next = ncclSend(gpu.data, 1, ncclFloat32, 0, gpu.comm, gpu.stream);
        refused |= next == ncclInvalidArgument;
      }
      gpu.settle();
      if (rank == 1) late |= gpu.read(1)[0] == static_cast<float>(10 * round);
    }
  });
  CHECK(waits == 2);
  CHECK(!early);
  CHECK(late);
  CHECK(refused);
}

TEST_CASE("Buffers that are elsewhere, too small or overlap are refused") {
  Gpu gpu = alone();
  REQUIRE(gpu.result == ncclSuccess);
  float on_host[4];
  float* const d = gpu.data;
  const auto send = [&](const float* from, std::size_t count) {
    return ncclSend(from, count, ncclFloat32, 0, gpu.comm, gpu.stream);
  };
  CHECK(send(on_host, 4) == ncclInvalidArgument);
  CHECK(send(d + 98, 4) == ncclInvalidArgument);
  CHECK(ncclSend(d, 4, ncclFloat32, 1, gpu.comm, gpu.stream) == ncclInvalidArgument);  // no rank 1
  CHECK(ncclSend(d, 4, ncclFloat64, 0, gpu.comm, gpu.stream) == ncclInvalidArgument);

  const auto all_reduce = [&](const float* from, float* to, ncclRedOp_t op) {
    return ncclAllReduce(from, to, 10, ncclFloat32, op, gpu.comm, gpu.stream);
  };
  CHECK(all_reduce(d, d, ncclSum) == ncclSuccess);
  CHECK(all_reduce(d, d + 10, ncclSum) == ncclSuccess);
  CHECK(all_reduce(d, d + 9, ncclSum) == ncclInvalidUsage);
  CHECK(all_reduce(d, d, ncclAvg) == ncclInvalidArgument);

  ncclGroupStart();  // both at once: what is received would be sent, or not
  send(d, 4);
  ncclRecv(d + 3, 4, ncclFloat32, 0, gpu.comm, gpu.stream);
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  ncclGroupStart();
  send(d, 4);
  ncclRecv(d + 4, 4, ncclFloat32, 0, gpu.comm, gpu.stream);
  CHECK(ncclGroupEnd() == ncclSuccess);
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
}

TEST_CASE("In place is where NCCL says it is") {
  std::array<ncclResult_t, 2> elsewhere{}, gathered{};
  on_ranks(2, [&](int rank, ncclUniqueId id) {
    Gpu gpu(rank, 2, id);
    const auto own = static_cast<std::size_t>(rank);
    const int other = 1 - rank;
    elsewhere[own] = ncclReduceScatter(gpu.data, gpu.data + 5 * other, 5, ncclFloat32, ncclSum,
                                       gpu.comm, gpu.stream);
    gathered[own] =
        ncclAllGather(gpu.data + 5 * other, gpu.data, 5, ncclFloat32, gpu.comm, gpu.stream);
  });
  CHECK(elsewhere == std::array{ncclInvalidUsage, ncclInvalidUsage});
  CHECK(gathered == std::array{ncclInvalidUsage, ncclInvalidUsage});
}

TEST_CASE("A call that is refused spoils its group, and nothing of it is done") {
  Gpu gpu = alone();
  gpu.fill({1, 2});
  ncclGroupStart();
  ncclSend(gpu.data, 1, ncclFloat32, 0, gpu.comm, gpu.stream);
  CHECK(ncclRecv(gpu.data + 99, 2, ncclFloat32, 0, gpu.comm, gpu.stream) == ncclInvalidArgument);
  ncclRecv(gpu.data + 1, 1, ncclFloat32, 0, gpu.comm, gpu.stream);
  CHECK(ncclGroupEnd() == ncclInvalidArgument);
  CHECK(gpu.read(2) == Values{1, 2});
}

TEST_CASE("A communicator begins with an id that a rank has made, and one rank of each number") {
  ncclUniqueId id{};
  Gpu stranger(0, 1, id, false);
  stranger.settle();
  CHECK(stranger.result == ncclSystemError);

  ncclConfig_t config{};
  ncclComm_t comm = nullptr;
  ncclGetUniqueId(&id);
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 1, nullptr) == ncclInvalidArgument);

  Gpu first(0, 2, id, false), again(0, 2, id, false);
  while (first.result == ncclInProgress && again.result == ncclInProgress) {
    ncclCommGetAsyncError(first.comm, &first.result);
    ncclCommGetAsyncError(again.comm, &again.result);
  }
  CHECK((first.result == ncclInvalidArgument || again.result == ncclInvalidArgument));
}

TEST_CASE("What no GPU would survive ends the program with a line that says what is wrong") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> faults = {
      {"other_counts", {"NCCL, rank ", "ncclAllReduce of 5", "came with", "ncclAllReduce of 6"}},
      {"other_roots", {"NCCL, rank 1", "ncclBroadcast of 7", "rank 0 came with ncclSend"}},
      {"used_after_abort", {"ncclSend: this communicator", "aborted"}},
      {"destroyed_at_once", {"ncclCommDestroy: finalize first"}},
  };
  for (const auto& [fault, parts] : faults) {
    RunOptions options;
    options.environment = {{"EMU_DEVICES", "2"}};
    const Finished finished = run({ZERO_PLANTED_NCCL_FAULTS, fault}, options);
    INFO(finished.describe());
    CHECK(finished.status == 128 + 6);
    REQUIRE(!finished.errors().empty());
    for (const std::string& part : parts) {
      CHECK(finished.errors()[0].find(part) != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace zero
