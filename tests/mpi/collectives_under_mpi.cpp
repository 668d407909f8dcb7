// Run under mpirun by CTest: the collectives on processes, and what happens when a rank fails.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "common/comm/world.h"
#include "tests/collectives.h"

namespace zero {
namespace {

float tolerance(Algorithm algorithm, Dtype dtype, int K) {
  if (algorithm != Algorithm::library || K <= 2) return 0;  // K = 2: one addition, no order
  if (dtype == Dtype::fp32) return 1e-6f;
  return dtype == Dtype::fp16 ? 0x1p-9f : 0x1p-6f;
}

void meets_definition(Transport& transport, Algorithm algorithm) {
  const int K = transport.world_size();
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    for (const std::int64_t N : {0, 1, K - 1, K, 2 * K + 1, 3 * K + 1, 1009}) {
      for (const std::int64_t chunk : {std::int64_t{7}, kChunk}) {
        DefinitionCheck(transport, algorithm, dtype, N, chunk, tolerance(algorithm, dtype, K))
            .run();
      }
    }
  }
}

// The bits of this rank's buffers after three collectives.
std::vector<std::byte> some_bits(Transport& transport, Algorithm algorithm, Dtype dtype) {
  const Partition partition(5003, transport.world_size());
  Member member(transport, algorithm, dtype, 64);
  Buffer scattered = member.filled(partition.all());
  Buffer reduced = member.filled(partition.all());
  member.comm->reduce_scatter(scattered, partition);
  member.comm->all_reduce(reduced, partition);
  for (const Piece& piece : partition.pieces({100, 4900})) {
    member.comm->reduce(reduced, scattered, piece);
  }
  std::vector<std::byte> bits;
  for (const View view : {View(scattered), View(reduced)}) {
    bits.insert(bits.end(), view.bytes().begin(), view.bytes().end());
  }
  return bits;
}

void same_bits_as_threads(Transport& transport) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
      const auto processes = some_bits(transport, algorithm, dtype);
      std::vector<std::byte> threads;
      run_on_threads(transport.world_size(), 60, [&](Transport& twin) {
        const auto bits = some_bits(twin, algorithm, dtype);
        if (twin.rank() == transport.rank()) threads = bits;
      });
      if (threads != processes) throw std::logic_error("other bits than threads");
    }
  }
}

// Messages longer than a part: MPI counts in int. 4.5 GiB in all for two ranks, so not by default.
void long_message(Transport& transport) {
  Member member(transport, Algorithm::ring, Dtype::fp32, 1);
  const std::int64_t size = (std::int64_t{1} << 28) + 5;
  Buffer buffer = member.device.allocate(Memory::temporary, "long", Dtype::fp32, size);
  const bool sends = transport.rank() == 0;
  Hop hop;
  hop.name = "long";
  hop.algorithm = "test";
  hop.destination = 1;
  float* data = buffer.view().as<float>();
  for (const std::int64_t i : {std::int64_t{0}, size - 6, size - 5, size - 1}) {
    data[i] = sends ? static_cast<float>(i % 1000) : -1.0f;
  }
  if (sends) transport.send(hop, buffer);
  else if (transport.rank() == 1) transport.receive(hop, buffer);
  for (const std::int64_t i : {std::int64_t{0}, size - 6, size - 5, size - 1}) {
    if (transport.rank() < 2 && data[i] != static_cast<float>(i % 1000)) {
      throw std::logic_error("a long message arrived changed");
    }
  }
}

// One good all_reduce, then rank 1 does something wrong in the second.
void fails(Transport& transport, const std::string& how) {
  Member member(transport, Algorithm::ring, Dtype::fp32, 64);
  const Partition partition(1000, transport.world_size());
  const Partition smaller(600, transport.world_size());
  Buffer buffer = member.filled(partition.all());
  member.comm->all_reduce(buffer, partition);
  const bool wrong = transport.rank() == 1;
  if (wrong && how == "throws") throw std::runtime_error("broken on purpose");
  if (wrong && how == "is killed") raise(SIGKILL);
  if (wrong && how == "never comes") std::this_thread::sleep_for(std::chrono::seconds(60));
  if (wrong && how == "has another size") member.comm->all_reduce(buffer, smaller);
  else if (wrong && how == "calls another") member.comm->reduce_scatter(buffer, partition);
  else member.comm->all_reduce(buffer, partition);
}

int run(const std::string& what) {
  if (!under_mpi() || mpi_rank() >= mpi_world_size()) return 3;
  if (what == "one cannot begin") return mpi_worst_status(mpi_rank() == 1 ? 2 : 0);
  return run_on_mpi(what == "never comes" ? 1 : 60, [&](Transport& transport) {
    if (what == "ring") meets_definition(transport, Algorithm::ring);
    else if (what == "direct") meets_definition(transport, Algorithm::direct);
    else if (what == "library") meets_definition(transport, Algorithm::library);
    else if (what == "threads") same_bits_as_threads(transport);
    else if (what == "long") long_message(transport);
    else fails(transport, what);
    if (transport.rank() == 0) std::printf("done: %s\n", what.c_str());
  });
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) { return argc == 2 ? zero::run(argv[1]) : 2; }
