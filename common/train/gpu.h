// GPUs: a part of the programs that is loaded when it is asked for, so that a program which was
// built with CUDA also runs where there is none, and a run on the CPU does not wait for it.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "common/comm/transport.h"
#include "common/device/device.h"

namespace zero {

// Why there is no GPU to use, without a full stop: "there is no NVIDIA driver on this machine".
struct NoGpu : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What the module gives. One in a process; its functions may be called by several ranks at once.
class GpuModule {
 public:
  virtual ~GpuModule() = default;

  // GPUs that this process can use, at least 1; NoGpu otherwise: no driver, no device, a driver
  // that is too old, a GPU that no kernels were built for.
  virtual int count() = 0;
  // "NVIDIA H200, 139.8 GiB, compute capability 9.0".
  virtual std::string describe(int gpu) = 0;
  virtual std::int64_t memory_bytes(int gpu) = 0;
  // Where it is in this machine ("0000:1b:00.0"): two ranks of a machine that read the same here
  // share a GPU.
  virtual std::string bus_id(int gpu) = 0;

  // To be called by the rank's own thread, which from then on works on this GPU. The arguments are
  // those of make_cpu_device.
  virtual std::unique_ptr<Device> make_device(MemoryTracker& tracker, HeapObserver* observer,
                                              bool fill_nan, int rank, int gpu) = 0;

  // Whether the module was built with NCCL.
  virtual bool has_nccl() = 0;
  // NCCL between ranks none of which share a GPU; `host` carries the scalars. Every rank calls it.
  // Null without NCCL.
  virtual std::unique_ptr<Transport> make_nccl_transport(Transport& host, Device& device,
                                                         double timeout_seconds) = 0;
};

// Loads the module on the first call: libzero_cuda.so beside the program's libraries, or the file
// that the environment variable ZERO_GPU_LIBRARY names. Throws NoGpu when there is none.
GpuModule& gpu_module();

}  // namespace zero
