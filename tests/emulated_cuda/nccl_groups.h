// What a function of the NCCL stand-in asks for, on its way into a group.
#pragma once

#include "nccl_handle.h"

namespace zero::emulator {

// Checks the call and adds it to the calling thread's group, or makes one of it alone. `reads` and
// `writes` are the bytes that it needs at `from` and at `to`.
ncclResult_t add(const char* name, ncclComm_t comm, cudaStream_t stream, const Call& call,
                 std::size_t reads, std::size_t writes);

// For a call that is wrong by itself: it spoils the group that it is in.
ncclResult_t refuse_call(ncclResult_t result, const std::string& why);

bool overlap(const std::byte* a, std::size_t a_bytes, const std::byte* b, std::size_t b_bytes);
inline std::size_t bytes_of(const Call& call) {
  return call.operation.count * bytes_of(call.operation.type);
}

}  // namespace zero::emulator
