// Which device the ranks compute on: decided once for all of them, before the first one begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/train/options.h"

namespace zero {

struct DevicePlan {
  DeviceKind kind = DeviceKind::cpu;  // never automatic

  // On GPUs:
  std::vector<int> gpus;    // by rank: the number of its GPU, as its process counts
  bool shared = false;      // some GPU has several ranks, which NCCL refuses
  bool nccl = false;        // tensors travel through NCCL; otherwise through the host
  std::int64_t memory = 0;  // bytes of the GPU that has least for each of its ranks,
  int ranks_in_memory = 1;  // and how many ranks these are

  std::string no_gpu;  // why `auto` chose the CPU, if it did

  // One line for standard error, without its end: which GPU it is, or why it is the CPU.
  std::string notice;
};

// Under MPI all processes must call it, and all of them get the same plan or the same error: all
// ranks compute on GPUs, or none does. Throws UsageError when there are none for --device cuda, or
// when --collectives library cannot be had.
DevicePlan choose_device(const Options& options, bool mpi);

}  // namespace zero
