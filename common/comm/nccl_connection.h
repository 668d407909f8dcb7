// One rank's connection to the others through NCCL: made, used on the device's stream, and ended,
// with a limit to every wait.
#pragma once

#include <nccl.h>

#include <chrono>
#include <string>

#include "common/comm/transport.h"
#include "common/device/cuda/cuda_device.h"

namespace zero {

// Throws std::runtime_error, "ncclSend failed: invalid usage: <NCCL's own words> (file:line)",
// unless `result` is a success or still in progress. The place is the caller's; `comm` may be null.
void check(ncclResult_t result, ncclComm_t comm, const char* call,
           const char* file = __builtin_FILE(), int line = __builtin_LINE());

ncclDataType_t nccl_type(Dtype dtype);

// Owns an NCCL communicator (a class Communicator is something else: communicator.h), which does
// not block: a call that NCCL cannot finish at once goes on in the background, and whoever waits
// looks, between two looks, whether the wait is in vain: another rank has failed, NCCL has, or it
// takes too long. Then the communicator is aborted, which ends what it has on the GPU, and an
// exception says where.
class NcclConnection {
 public:
  // Every rank of `host` calls it; both must outlive it. Until it is destroyed it is the device's
  // watch.
  NcclConnection(Transport& host, CudaDevice& device, double timeout_seconds);
  // Waits for the other ranks to be done, too, unless something has failed.
  ~NcclConnection();
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;

  ncclComm_t comm() const { return comm_; }
  cudaStream_t stream() const { return device_.stream(); }

  // Puts the NCCL operations that `calls()` asks for into the stream, as one. `calls` returns the
  // first result that is an error, or ncclSuccess. `hop` and `peer`, the rank that it needs to go
  // on (-1: all others), are for messages.
  template <class Calls>
  void submit(const Hop& hop, int peer, const char* name, Calls calls) {
    begin(hop, peer);
    const ncclResult_t started = ncclGroupStart();
    const ncclResult_t called = started == ncclSuccess ? calls() : started;
    const ncclResult_t ended = ncclGroupEnd();  // also after an error, else the group stays open
    finish(called == ncclSuccess || called == ncclInProgress ? ended : called, name);
  }

  // Ends what the communicator has on the GPU. Afterwards nothing can be submitted. Does not throw.
  void abort() noexcept;

 private:
  using Seconds = std::chrono::duration<double>;

  void begin(const Hop& hop, int peer);
  void finish(ncclResult_t result, const char* name);
  // Waits until what was asked for is no longer in progress.
  void settle(ncclResult_t result, const char* name);
  // One look of a wait. Throws when it is in vain, and has aborted the communicator then.
  void look(Seconds waited);
  void look_or_throw(Seconds waited);
  // Where the last submitted operation belongs: "reduce_scatter (ring, ..., step 2 of 3)". The GPU
  // may still be in an earlier one.
  std::string place() const;

  Transport& host_;
  CudaDevice& device_;
  const Seconds timeout_;
  const int exceptions_;  // under way when it was made
  ncclComm_t comm_ = nullptr;
  Hop hop_;            // the last submitted one
  int peer_ = -1;      // whom it needs
  int in_stream_ = 0;  // operations since the stream was last known to be empty
};

}  // namespace zero
