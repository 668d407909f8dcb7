// NCCL without blocking: beginning, polling, end.
#include "common/comm/nccl_connection.h"

#include <fmt/format.h>

#include <exception>
#include <future>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace zero {
namespace {

// A stream takes about a thousand launches; the next one waits inside the driver, where nobody
// looks whether that is in vain. With the operators between them, this many operations stay below.
constexpr int kInStream = 128;

// Between two looks: at first NCCL is mostly about to be done.
constexpr int kEagerLooks = 1000;
constexpr auto kPause = std::chrono::microseconds(100);

// How long this rank stands by NCCL's "a remote rank failed": that rank is about to say why.
constexpr auto kForTheCause = std::chrono::seconds(2);

// NCCL's abort may wait for other ranks on this machine, which do not know yet that they have to.
constexpr auto kForAbort = std::chrono::seconds(5);

// Rank 0's number for the group, which the others need to find it.
ncclUniqueId shared_id(Transport& host, const Hop& hop) {
  ncclUniqueId mine{};
  if (host.rank() == 0) check(ncclGetUniqueId(&mine), nullptr, "ncclGetUniqueId");
  std::vector<ncclUniqueId> all(static_cast<std::size_t>(host.world_size()));
  host.all_gather_scalars(std::as_bytes(std::span(&mine, 1)),
                          std::as_writable_bytes(std::span(all)), &hop);
  return all[0];
}

}  // namespace

void check(ncclResult_t result, ncclComm_t comm, const char* call, const char* file, int line) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const char* const words = ncclGetLastError(comm);
  throw std::runtime_error(fmt::format("{} failed: {}{}{} ({}:{})", call,
                                       ncclGetErrorString(result), words && *words ? ": " : "",
                                       words ? words : "", file, line));
}

ncclDataType_t nccl_type(Dtype dtype) {
  if (dtype == Dtype::fp16) return ncclFloat16;
  if (dtype == Dtype::bf16) return ncclBfloat16;
  return ncclFloat32;
}

NcclConnection::NcclConnection(Transport& host, CudaDevice& device, double timeout_seconds)
    : host_(host),
      device_(device),
      timeout_(timeout_seconds),
      exceptions_(std::uncaught_exceptions()) {
  hop_.name = "making the NCCL communicator";
  const ncclUniqueId id = shared_id(host_, hop_);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  try {
    settle(ncclCommInitRankConfig(&comm_, host_.world_size(), id, host_.rank(), &config),
           "ncclCommInitRankConfig");
  } catch (...) {
    abort();
    throw;
  }
  device_.set_watch([this](Seconds waited) { look(waited); });
}

NcclConnection::~NcclConnection() {
  if (std::uncaught_exceptions() == exceptions_ && comm_) {
    try {
      hop_ = Hop{};
      hop_.name = "ending the NCCL communicator";
      peer_ = -1;
      settle(ncclCommFinalize(comm_), "ncclCommFinalize");
      ncclCommDestroy(std::exchange(comm_, nullptr));
    } catch (const std::exception&) {
      // This rank has done its part; whoever failed says so.
    }
  }
  abort();
  device_.set_watch({});
}

void NcclConnection::begin(const Hop& hop, int peer) {
  hop_ = hop;
  peer_ = peer;
  if (!comm_) throw std::runtime_error(fmt::format("{}: NCCL has been aborted", place()));
  if (++in_stream_ <= kInStream) return;
  device_.synchronize();
  in_stream_ = 1;
}

void NcclConnection::finish(ncclResult_t result, const char* name) {
  try {
    settle(result, name);
  } catch (...) {
    abort();
    throw;
  }
}

void NcclConnection::settle(ncclResult_t result, const char* name) {
  if (result != ncclSuccess && result != ncclInProgress) {
    check(result, comm_, fmt::format("{}: {}", place(), name).c_str());
  }
  const auto begin = std::chrono::steady_clock::now();
  // Also after a success: NCCL does not always say at once that it goes on in the background.
  for (int looks = 0;; ++looks) {
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(comm_, &state), comm_, "ncclCommGetAsyncError");
    if (state == ncclSuccess) return;
    look(std::chrono::steady_clock::now() - begin);
    if (looks > kEagerLooks) std::this_thread::sleep_for(kPause);
  }
}

void NcclConnection::look(Seconds waited) {
  if (!comm_) return;
  try {
    look_or_throw(waited);
  } catch (...) {
    abort();
    throw;
  }
}

void NcclConnection::look_or_throw(Seconds waited) {
  host_.check_peers(&hop_);
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(comm_, &state), comm_, "ncclCommGetAsyncError");
  if (state != ncclSuccess && state != ncclInProgress) {
    const auto until = std::chrono::steady_clock::now() + kForTheCause;
    while (state == ncclRemoteError && std::chrono::steady_clock::now() < until) {
      host_.check_peers(&hop_);
      std::this_thread::sleep_for(kPause);
    }
    check(state, comm_, place().c_str());
  }
  if (waited < timeout_) return;
  const std::string whom = peer_ < 0 ? "the other ranks" : fmt::format("rank {}", peer_);
  throw std::runtime_error(
      fmt::format("{}: nothing from {} for {} seconds", place(), whom, timeout_.count()));
}

void NcclConnection::abort() noexcept {
  ncclComm_t const comm = std::exchange(comm_, nullptr);
  if (!comm) return;
  try {
    std::promise<void> promise;
    const std::future<void> done = promise.get_future();
    std::thread([comm, promise = std::move(promise)]() mutable {
      ncclCommAbort(comm);
      promise.set_value();
    }).detach();
    done.wait_for(kForAbort);
  } catch (const std::exception&) {
    ncclCommAbort(comm);  // no thread to be had
  }
}

std::string NcclConnection::place() const {
  return fmt::format("rank {}, {}", host_.rank(), describe(&hop_));
}

}  // namespace zero
