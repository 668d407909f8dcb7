// Communicators of the NCCL stand-in: how they begin, where they stand, how they end.
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>

#include "emulator.h"
#include "nccl_handle.h"

namespace zero::emulator {
namespace {

thread_local std::string last_error;

struct Existing {
  std::mutex mutex;
  std::set<ncclComm_t> all;
};
Existing& existing();

// What a GPU would have gone on with, or waited for, without end.
struct AtEnd {
  ~AtEnd() {
    const std::lock_guard lock(existing().mutex);
    const std::size_t left = existing().all.size();
    if (left > 0) {
      fail("NCCL: at the end, " + std::to_string(left) +
           " communicators had been neither destroyed nor aborted");
    }
  }
};

Existing& existing() {
  static Existing* const existing = new Existing;  // threads may be at work until the very end
  static const AtEnd at_end;
  return *existing;
}

void forget(ncclComm_t comm) {
  const std::lock_guard lock(existing().mutex);
  existing().all.erase(comm);
}

// Says which two ranks are on one GPU; nothing when there are none.
std::string duplicate_gpu(const Board& board, int ranks) {
  for (int a = 0; a < ranks; ++a) {
    for (int b = a + 1; b < ranks; ++b) {
      if (std::strcmp(board.gpu[a], board.gpu[b]) != 0) continue;
      return "Duplicate GPU detected : rank " + std::to_string(a) + " and rank " +
             std::to_string(b) + " both on CUDA device " + board.gpu[a];
    }
  }
  return "";
}

ncclResult_t join_board(Member& member, std::string& error) {
  member.board = open_board(member.board_name);
  if (!member.board) {
    error = "no rank has made this unique id";
    return ncclSystemError;
  }
  Board& board = *member.board;
  int nobody = 0;
  board.world_size.compare_exchange_strong(nobody, member.world_size);
  if (board.world_size != member.world_size || board.present[member.rank].exchange(true)) {
    error = "rank " + std::to_string(member.rank) + " of " + std::to_string(member.world_size) +
            " is there already, or other ranks are of " + std::to_string(board.world_size);
    return ncclInvalidArgument;
  }
  cudaDeviceGetPCIBusId(board.gpu[member.rank], sizeof board.gpu[0], member.device);
  ++board.joined;
  while (board.joined < member.world_size) {
    if (member.aborted) return ncclInternalError;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  forget_board(member.board_name);
  error = duplicate_gpu(board, member.world_size);
  return error.empty() ? ncclSuccess : ncclInvalidUsage;
}

}  // namespace

ncclResult_t refuse(ncclResult_t result, const std::string& why) {
  last_error = why;
  return result;
}

void require(ncclComm_t comm, const char* call) {
  const std::lock_guard lock(existing().mutex);
  if (existing().all.contains(comm)) return;
  fail(std::string(call) + ": this communicator was never made, or has been destroyed or aborted");
}

ncclResult_t check_ready(ncclComm_t comm) {
  if (comm->begun == ncclSuccess && comm->looks == 0 && !comm->finalizing) return ncclSuccess;
  return refuse(ncclInvalidArgument,
                "attempt to use a communicator before the previous operation returned ncclSuccess");
}

}  // namespace zero::emulator

using namespace zero::emulator;

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
  }
  return "unknown result code";
}

const char* ncclGetLastError(ncclComm_t comm) {
  const bool broken = comm && comm->begun != ncclInProgress && comm->begun != ncclSuccess;
  return broken ? comm->error.c_str() : last_error.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = ncclUniqueId{};
  try {
    create_board().copy(id->internal, sizeof id->internal - 1);
  } catch (const std::runtime_error& error) {
    return refuse(ncclSystemError, error.what());
  }
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  *comm = nullptr;
  if (ranks < 1 || ranks > kMostRanks || rank < 0 || rank >= ranks) {
    return refuse(ncclInvalidArgument, "no such rank, or more than are emulated");
  }
  if (config && config->magic != 0xcafebeef) {
    return refuse(ncclInvalidArgument, "the config was not initialized");
  }
  auto made = std::make_unique<ncclComm>();
  made->blocking = !config || config->blocking != 0;
  made->member->board_name = id.internal;
  made->member->rank = rank;
  made->member->world_size = ranks;
  cudaGetDevice(&made->member->device);
  made->beginning = std::thread([handle = made.get()] {
    const ncclResult_t result = join_board(*handle->member, handle->error);
    handle->begun = result;
  });
  *comm = made.release();
  {
    const std::lock_guard lock(existing().mutex);
    existing().all.insert(*comm);
  }
  if (!(*comm)->blocking) return ncclInProgress;
  (*comm)->beginning.join();
  return (*comm)->begun;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  require(comm, "ncclCommGetAsyncError");
  *state = comm->begun;
  if (*state != ncclSuccess) return ncclSuccess;
  if (comm->looks > 0) {
    *state = ncclInProgress;
    if (--comm->looks == 0) launch(*comm);
  } else if (comm->finalizing && comm->member->board->finalized < comm->member->world_size) {
    *state = ncclInProgress;
  }
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  require(comm, "ncclCommFinalize");
  if (const ncclResult_t ready = check_ready(comm); ready != ncclSuccess) return ready;
  comm->finalizing = true;
  ++comm->member->board->finalized;
  return comm->blocking ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  require(comm, "ncclCommDestroy");
  if (!comm->finalizing) fail("ncclCommDestroy: finalize first is what is emulated");
  forget(comm);
  if (comm->beginning.joinable()) comm->beginning.join();
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  require(comm, "ncclCommAbort");
  forget(comm);
  comm->member->aborted = true;
  if (comm->beginning.joinable()) comm->beginning.join();
  forget_board(comm->member->board_name);
  delete comm;
  return ncclSuccess;
}
