// NCCL's operations, as the stand-in takes them: what each reads and writes, and what in place
// means.
#include "nccl_groups.h"

using namespace zero::emulator;

namespace {

std::byte* bytes(const void* data) {
  return const_cast<std::byte*>(static_cast<const std::byte*>(data));
}

// `count` elements on each rank.
Call collective(Kind kind, const void* from, void* to, std::size_t count, ncclDataType_t type,
                int root = -1) {
  return {{kind, root, type, 0, count}, bytes(from), bytes(to), 0};
}

ncclResult_t refuse_operation(const char* name) {
  return refuse_call(ncclInvalidArgument, std::string(name) + ": sums are what is emulated");
}

ncclResult_t refuse_overlap(const char* name, const char* in_place) {
  return refuse_call(ncclInvalidUsage,
                     std::string(name) + ": buffers overlap; in place means " + in_place);
}

std::size_t times(std::size_t bytes, int ranks) { return bytes * static_cast<std::size_t>(ranks); }

}  // namespace

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  const Call call{{Kind::send, -1, type, 0, count}, bytes(from), nullptr, peer};
  return add("ncclSend", comm, stream, call, bytes_of(call), 0);
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  const Call call{{Kind::send, -1, type, 0, count}, nullptr, bytes(to), peer};
  return add("ncclRecv", comm, stream, call, 0, bytes_of(call));
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  const Call call = collective(Kind::all_reduce, from, to, count, type);
  const std::size_t B = bytes_of(call);
  if (op != ncclSum) return refuse_operation("ncclAllReduce");
  if (from != to && overlap(call.from, B, call.to, B)) {
    return refuse_overlap("ncclAllReduce", "to == from");
  }
  return add("ncclAllReduce", comm, stream, call, B, B);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t received,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  require(comm, "ncclReduceScatter");
  const Call call = collective(Kind::reduce_scatter, from, to, received, type);
  const std::size_t B = bytes_of(call);
  const std::size_t all = times(B, comm->member->world_size);
  if (op != ncclSum) return refuse_operation("ncclReduceScatter");
  if (call.to != call.from + times(B, comm->member->rank) && overlap(call.from, all, call.to, B)) {
    return refuse_overlap("ncclReduceScatter", "to == from + rank * received");
  }
  return add("ncclReduceScatter", comm, stream, call, all, B);
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t sent, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  require(comm, "ncclAllGather");
  const Call call = collective(Kind::all_gather, from, to, sent, type);
  const std::size_t B = bytes_of(call);
  const std::size_t all = times(B, comm->member->world_size);
  if (call.from != call.to + times(B, comm->member->rank) && overlap(call.from, B, call.to, all)) {
    return refuse_overlap("ncclAllGather", "from == to + rank * sent");
  }
  return add("ncclAllGather", comm, stream, call, B, all);
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  require(comm, "ncclReduce");
  const Call call = collective(Kind::reduce, from, to, count, type, root);
  const std::size_t B = bytes_of(call);
  const bool owner = comm->member->rank == root;
  if (op != ncclSum) return refuse_operation("ncclReduce");
  if (owner && from != to && overlap(call.from, B, call.to, B)) {
    return refuse_overlap("ncclReduce", "to == from");
  }
  return add("ncclReduce", comm, stream, call, B, owner ? B : 0);
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  require(comm, "ncclBroadcast");
  const Call call = collective(Kind::broadcast, from, to, count, type, root);
  const std::size_t B = bytes_of(call);
  const bool owner = comm->member->rank == root;
  if (owner && from != to && overlap(call.from, B, call.to, B)) {
    return refuse_overlap("ncclBroadcast", "to == from");
  }
  return add("ncclBroadcast", comm, stream, call, owner ? B : 0, B);
}
