// Groups of the NCCL stand-in: what is asked for between start and end is checked and done as one.
#include "nccl_groups.h"

#include <set>
#include <utility>

#include "emulator.h"

namespace zero::emulator {
namespace {

struct Pending {
  ncclComm_t comm;
  cudaStream_t stream;
  Call call;
};
struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<Pending> calls;
};
thread_local Group group;

// What is received in a group must not be touched by its other messages.
bool receives_apart(const std::vector<Call>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].operation.kind != Kind::send || !calls[i].to) continue;
    for (std::size_t j = 0; j < calls.size(); ++j) {
      if (i == j || calls[j].operation.kind != Kind::send) continue;
      const std::byte* const other = calls[j].to ? calls[j].to : calls[j].from;
      if (overlap(calls[i].to, bytes_of(calls[i]), other, bytes_of(calls[j]))) return false;
    }
  }
  return true;
}

// Now and then a communicator that does not block is still in progress after its group's end.
ncclResult_t start(ncclComm& comm) {
  if (!receives_apart(comm.calls)) {
    comm.calls.clear();
    return refuse(ncclInvalidUsage, "what one message of a group receives, another one touches");
  }
  comm.looks = comm.blocking ? 0 : comm.groups++ % 3;
  if (comm.looks > 0) return ncclInProgress;
  launch(comm);
  return ncclSuccess;
}

ncclResult_t close_group() {
  const Group closed = std::exchange(group, Group());
  if (closed.error != ncclSuccess) return closed.error;
  std::set<ncclComm_t> comms;
  for (const Pending& pending : closed.calls) {
    ncclComm& comm = *pending.comm;
    if (!comm.calls.empty() && comm.stream != pending.stream) {
      fail("NCCL: one stream for each communicator of a group is what is emulated");
    }
    comm.stream = pending.stream;
    comm.calls.push_back(pending.call);
    comms.insert(&comm);
  }
  ncclResult_t result = ncclSuccess;
  for (ncclComm_t comm : comms) {
    const ncclResult_t started = start(*comm);
    if (started != ncclSuccess && (result == ncclSuccess || result == ncclInProgress)) {
      result = started;
    }
  }
  return result;
}

bool on_device(ncclComm_t comm, const std::byte* data, std::size_t bytes) {
  return bytes == 0 || is_device_memory(data, bytes, comm->member->device);
}

ncclResult_t check(const char* name, ncclComm_t comm, cudaStream_t stream, const Call& call,
                   std::size_t reads, std::size_t writes) {
  if (const ncclResult_t ready = check_ready(comm); ready != ncclSuccess) return ready;
  const std::string where = std::string(name) + ": ";
  if (bytes_of(call.operation.type) == 0) {
    return refuse(ncclInvalidArgument, where + "fp32, fp16 and bf16 are what is emulated");
  }
  const int ranks = comm->member->world_size;
  if (call.peer < 0 || call.peer >= ranks || call.operation.root >= ranks) {
    return refuse(ncclInvalidArgument, where + "there is no such rank");
  }
  if (!is_stream(stream) || device_of(stream) != comm->member->device) {
    return refuse(ncclInvalidUsage, where + "the stream is not of the communicator's GPU");
  }
  if (!on_device(comm, call.from, reads) || !on_device(comm, call.to, writes)) {
    return refuse(ncclInvalidArgument, where + "a buffer is not this GPU's memory, or too small");
  }
  return ncclSuccess;
}

}  // namespace

void launch(ncclComm& comm) {
  const std::shared_ptr<Member> member = comm.member;
  enqueue(comm.stream, [member, calls = std::exchange(comm.calls, {})] { run(*member, calls); });
  // A lazy stream would wait until its own host waits, which may be waiting for another rank whose
  // operation waits for this one. A GPU goes on by itself.
  if (settings().streams == StreamMode::lazy) finish(comm.stream);
}

ncclResult_t add(const char* name, ncclComm_t comm, cudaStream_t stream, const Call& call,
                 std::size_t reads, std::size_t writes) {
  require(comm, name);
  const ncclResult_t checked = check(name, comm, stream, call, reads, writes);
  if (checked == ncclSuccess) group.calls.push_back({comm, stream, call});
  else group.error = checked;
  if (group.depth > 0) return checked;
  const ncclResult_t result = close_group();
  // As in NCCL: a lone message says success even when it is still on its way into the stream.
  return result == ncclInProgress && call.operation.kind == Kind::send ? ncclSuccess : result;
}

ncclResult_t refuse_call(ncclResult_t result, const std::string& why) {
  if (group.depth > 0) group.error = result;
  return refuse(result, why);
}

bool overlap(const std::byte* a, std::size_t a_bytes, const std::byte* b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace zero::emulator

using namespace zero::emulator;

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--group.depth > 0) return ncclSuccess;
  return close_group();
}
