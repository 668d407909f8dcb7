// NCCL's own collectives: whole, in place, in an order of NCCL's choice.
//
// NCCL sums and we divide: its own average scales every contribution by 1/K, rounded to the wire
// type, before it adds, which is neither of the averages of communicator.h.
#include "common/comm/nccl_library.h"

#include <algorithm>

#include "common/comm/algorithms.h"

namespace zero {
namespace {

class NcclLibraryCommunicator : public Communicator {
 public:
  NcclLibraryCommunicator(Transport& transport, NcclConnection& nccl, Device& device, Trace& trace,
                          Dtype wire, std::int64_t chunk)
      : Communicator(Algorithm::library, transport, device, trace, wire),
        nccl_(nccl),
        chunk_(chunk),
        sum_(device.allocate(Memory::communication, "fp32 sum", Dtype::fp32,
                             wire == Dtype::fp32 ? 0 : chunk)) {}

 private:
  void do_all_reduce(View buffer, const Partition& partition) override;
  void do_reduce_scatter(View buffer, const Partition& partition) override;
  void do_all_gather(View buffer, const Partition& partition) override;
  void do_reduce(View send, View receive, const Piece& piece) override;
  void do_broadcast(View send, View receive, const Piece& piece) override;

  // In place: average = round(sum / K), the sum being of the wire type. Through fp32 chunk by
  // chunk.
  void divide(View sum);

  // The hop is for the message of a wait that fails, which names the collective and its step. So an
  // all-gather may say Effect::add here: nobody reads it.
  template <class Calls>
  void submit(const char* name, Range range, Calls calls) {
    nccl_.submit(hop(1, 1, 0, -1, rank(), Effect::add, range), -1, name, calls);
  }
  ncclDataType_t type() const { return nccl_type(wire_); }
  static std::size_t count(View view) { return static_cast<std::size_t>(view.size()); }

  NcclConnection& nccl_;
  std::int64_t chunk_;
  Buffer sum_;
};

void NcclLibraryCommunicator::do_all_reduce(View buffer, const Partition& partition) {
  const View all = buffer[partition.all()];
  submit("ncclAllReduce", all.range(), [&] {
    return ncclAllReduce(all.data(), all.data(), count(all), type(), ncclSum, nccl_.comm(),
                         nccl_.stream());
  });
  divide(all);
  trace_.library(current().collective, current().name, all);
}

// NCCL's in-place form receives into the own shard of what is sent and leaves the others alone.
void NcclLibraryCommunicator::do_reduce_scatter(View buffer, const Partition& partition) {
  const View all = buffer[partition.all()];
  const View mine = all[partition.shard(rank())];
  submit("ncclReduceScatter", all.range(), [&] {
    return ncclReduceScatter(all.data(), mine.data(), count(mine), type(), ncclSum, nccl_.comm(),
                             nccl_.stream());
  });
  divide(mine);
  trace_.library(current().collective, current().name, mine);
}

void NcclLibraryCommunicator::do_all_gather(View buffer, const Partition& partition) {
  const View all = buffer[partition.all()];
  const View mine = all[partition.shard(rank())];
  submit("ncclAllGather", all.range(), [&] {
    return ncclAllGather(mine.data(), all.data(), count(mine), type(), nccl_.comm(),
                         nccl_.stream());
  });
  trace_.library(current().collective, current().name, all);
}

void NcclLibraryCommunicator::do_reduce(View send, View receive, const Piece& piece) {
  const bool owner = rank() == piece.owner;
  const View own = send[piece.range];
  const View average = owner ? receive[piece.range] : View();
  submit("ncclReduce", piece.range, [&] {
    return ncclReduce(own.data(), average.data(), count(own), type(), ncclSum, piece.owner,
                      nccl_.comm(), nccl_.stream());
  });
  if (!owner) return;
  divide(average);
  trace_.library(current().collective, current().name, average);
}

void NcclLibraryCommunicator::do_broadcast(View send, View receive, const Piece& piece) {
  const bool owner = rank() == piece.owner;
  const View held = (owner ? send : receive)[piece.range];
  submit("ncclBroadcast", piece.range, [&] {
    return ncclBroadcast(held.data(), held.data(), count(held), type(), piece.owner, nccl_.comm(),
                         nccl_.stream());
  });
  if (owner) copy_own(held, receive[piece.range]);
  trace_.library(current().collective, current().name, receive[piece.range]);
}

void NcclLibraryCommunicator::divide(View sum) {
  const float K = static_cast<float>(world_size());
  if (sum.dtype() == Dtype::fp32) {
    device_.divide(sum, sum, K);
    return;
  }
  for (std::int64_t first = 0; first < sum.size(); first += chunk_) {
    const View part = sum.slice(first, std::min(chunk_, sum.size() - first));
    const View wide = sum_.view().first(part.size());
    device_.copy(part, wide);
    device_.divide(part, wide, K);
  }
}

}  // namespace

std::unique_ptr<Communicator> make_nccl_library_communicator(Transport& transport,
                                                             NcclConnection& nccl, Device& device,
                                                             Trace& trace, Dtype wire,
                                                             std::int64_t chunk) {
  return std::make_unique<NcclLibraryCommunicator>(transport, nccl, device, trace, wire, chunk);
}

}  // namespace zero
