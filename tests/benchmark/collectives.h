// The collectives' bus bandwidth, as nccl-tests defines it, beside a plain copy of memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zero {

struct Bandwidth {
  std::string name;  // "all_reduce"
  std::string how;   // "ring, threads"
  std::int64_t bytes = 0;
  double gigabytes_per_second = 0;  // of the bus
};

// On threads of this process: ring and direct.
std::vector<Bandwidth> on_threads(int ranks, std::int64_t bytes);

// In a process of an MPI run: ring, direct, and MPI's own. Every rank calls; the result is the same
// on each.
std::vector<Bandwidth> on_mpi(std::int64_t bytes);

// Seconds that MPI_Allreduce takes to add `count` floats, the best of `times`. Collective; 0 when
// built without MPI.
double mpi_allreduce_seconds(std::int64_t count, int times);

// Bytes that each of `threads` threads copies in a second, all at once: memcpy of `bytes`.
double memcpy_gigabytes_per_second(int threads, std::int64_t bytes);

}  // namespace zero
