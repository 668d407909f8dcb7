// The collectives' bus bandwidth, as nccl-tests defines it, beside a plain copy of memory.
#include "tests/benchmark/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "common/comm/communicator.h"
#include "common/comm/world.h"
#include "common/device/device.h"

namespace zero {
namespace {

constexpr int kTimes = 15;

// Bus bandwidth: bytes / time, times the factor that makes it the speed of the slowest link that
// any algorithm needs (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(const std::string& name, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  return name == "all_reduce" ? 2 * others : others;
}

// One rank's part of all measurements; the times are the slowest rank's, the best of several.
std::vector<Bandwidth> measure(Transport& transport, const std::vector<Algorithm>& algorithms,
                               std::int64_t bytes, const char* where) {
  const Place place;
  MemoryTracker tracker(place);
  Trace trace(place);
  const auto device = make_cpu_device(tracker, nullptr, false, transport.rank(), 1);
  const int ranks = transport.world_size();
  const Partition partition(bytes / bytes_of(Dtype::fp32), ranks);
  Buffer buffer = device->allocate(Memory::gradients, "benchmark", Dtype::fp32, partition.all());
  device->zero(buffer);
  std::vector<Bandwidth> results;
  for (const Algorithm algorithm : algorithms) {
    const auto comm = make_communicator(algorithm, transport, *device, trace, Dtype::fp32);
    for (const std::string name : {"all_reduce", "reduce_scatter", "all_gather"}) {
      double best = 1e9;
      for (int i = 0; i < kTimes; ++i) {
        comm->all_gather_scalar(0);  // nobody starts before all are here
        const auto began = std::chrono::steady_clock::now();
        if (name == "all_reduce") comm->all_reduce(buffer, partition);
        if (name == "reduce_scatter") comm->reduce_scatter(buffer, partition);
        if (name == "all_gather") comm->all_gather(buffer, partition);
        const std::chrono::duration<double> own = std::chrono::steady_clock::now() - began;
        const auto all = comm->all_gather_scalar(own.count());
        best = std::min(best, *std::max_element(all.begin(), all.end()));
      }
      results.push_back({name, fmt::format("{}, {}", to_string(algorithm), where), bytes,
                         static_cast<double>(bytes) / best * bus_factor(name, ranks) / 1e9});
    }
  }
  return results;
}

}  // namespace

std::vector<Bandwidth> on_threads(int ranks, std::int64_t bytes) {
  std::vector<Bandwidth> results;
  const int status = run_on_threads(ranks, 60, [&](Transport& transport) {
    auto own = measure(transport, {Algorithm::ring, Algorithm::direct}, bytes, "threads");
    if (transport.rank() == 0) results = std::move(own);
  });
  if (status != 0) throw std::runtime_error("the collectives failed");
  return results;
}

std::vector<Bandwidth> on_mpi(std::int64_t bytes) {
  std::vector<Bandwidth> results;
  const int status = run_on_mpi(60, [&](Transport& transport) {
    results =
        measure(transport, {Algorithm::ring, Algorithm::direct, Algorithm::library}, bytes, "MPI");
    const double seconds = mpi_allreduce_seconds(bytes / bytes_of(Dtype::fp32), kTimes);
    results.push_back({"all_reduce", "MPI_Allreduce", bytes,
                       static_cast<double>(bytes) / seconds *
                           bus_factor("all_reduce", transport.world_size()) / 1e9});
  });
  if (status != 0) throw std::runtime_error("the collectives failed");
  return results;
}

double memcpy_gigabytes_per_second(int threads, std::int64_t bytes) {
  std::barrier together(threads);
  std::vector<double> best(static_cast<std::size_t>(threads), 1e9);
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      std::vector<char> from(static_cast<std::size_t>(bytes), 1), to(from.size(), 2);
      for (int i = 0; i < kTimes; ++i) {
        together.arrive_and_wait();
        const auto began = std::chrono::steady_clock::now();
        std::memcpy(to.data(), from.data(), from.size());
        const std::chrono::duration<double> own = std::chrono::steady_clock::now() - began;
        if (to[from.size() / 2] == 1) best[t] = std::min(best[t], own.count());
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  return static_cast<double>(bytes) / *std::max_element(best.begin(), best.end()) / 1e9;
}

}  // namespace zero
