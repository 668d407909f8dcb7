// One rank's communicator of the NCCL stand-in, and what its files tell each other.
#pragma once

#include <nccl.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "nccl_operations.h"

// Used by one thread at a time, as in NCCL.
struct ncclComm {
  std::shared_ptr<zero::emulator::Member> member = std::make_shared<zero::emulator::Member>();
  bool blocking = true;
  bool finalizing = false;

  // Comes to the board and waits for the others.
  std::thread beginning;
  std::atomic<ncclResult_t> begun = ncclInProgress;
  std::string error;  // why `begun` is one; written before it

  // What the last group asked for goes into its stream when this many looks have found it in
  // progress: who does not look finds nothing in the stream.
  int looks = 0;
  std::vector<zero::emulator::Call> calls;
  cudaStream_t stream = nullptr;
  int groups = 0;
};

namespace zero::emulator {

// Returns `result`, and remembers why for ncclGetLastError.
ncclResult_t refuse(ncclResult_t result, const std::string& why);

// Ends the program when there is no such communicator (any more).
void require(ncclComm_t comm, const char* call);

// Whether its last operation is known to be over.
ncclResult_t check_ready(ncclComm_t comm);

// Puts what waits in comm.calls into the stream.
void launch(ncclComm& comm);

}  // namespace zero::emulator
