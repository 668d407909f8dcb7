// Run under mpirun by CTest: ranks that are processes, each with a GPU (the emulated ones), over
// NCCL and through the host, and what happens when one of them fails.
#include <csignal>
#include <cstdio>
#include <thread>

#include "common/comm/world.h"
#include "tests/gpu_collectives.h"

namespace zero::test {
namespace {

// The same bits and bytes as threads without a GPU.
void same_as_threads(Transport& host, Carrier carrier) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
      Outcome expected;
      run_on_threads(host.world_size(), 60, [&](Transport& twin) {
        GpuMember member(twin, Carrier::host, algorithm, dtype, 64);
        const Outcome of_rank = outcome(member, 331);
        if (twin.rank() == host.rank()) expected = of_rank;
      });
      GpuMember member(host, carrier, algorithm, dtype, 64);
      if (outcome(member, 331) != expected) throw std::logic_error("other bits than on threads");
    }
  }
}

void library(Transport& host) {
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    GpuMember member(host, Carrier::nccl, Algorithm::library, dtype, 64);
    check_library(member, 331, tolerance_of(dtype));
  }
}

// Rank 1 does something wrong where the others wait, on their GPUs, for a message of it.
void fails(Transport& host, const std::string& how, double timeout) {
  GpuMember member(host, Carrier::nccl, Algorithm::ring, Dtype::fp32, 64, timeout);
  const Partition partition(1000, host.world_size());
  Buffer buffer = member.filled(partition.all());
  member.comm->all_reduce(buffer, partition);
  member.device->synchronize();
  if (host.rank() == 1) {
    if (how == "throws") throw std::runtime_error("broken on purpose");
    if (how == "is killed") raise(SIGKILL);
    std::this_thread::sleep_for(std::chrono::seconds(60));
  }
  Hop hop;
  hop.collective = 2;
  hop.name = "all_gather";
  hop.algorithm = "ring";
  hop.source = 1;
  hop.destination = host.rank();
  member.transport->receive(hop, buffer[partition.shard(1)]);
  member.device->synchronize();
}

int run(const std::string& what) {
  if (!under_mpi()) return 3;
  const double timeout = what == "never comes" ? 1 : 60;
  return run_on_mpi(timeout, [&](Transport& host) {
    if (what == "nccl") same_as_threads(host, Carrier::nccl);
    else if (what == "staged") same_as_threads(host, Carrier::staged);
    else if (what == "library") library(host);
    else fails(host, what, timeout);
    if (host.rank() == 0) std::printf("done: %s\n", what.c_str());
  });
}

}  // namespace
}  // namespace zero::test

int main(int argc, char** argv) { return argc == 2 ? zero::test::run(argv[1]) : 2; }
