// MPI's own collectives: whole, in an order of MPI's choice, chunk by chunk.
#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "common/comm/algorithms.h"
#include "common/comm/mpi.h"
#include "common/comm/mpi_transport.h"

namespace zero {
namespace {

// sum[i] = round(sum[i] + x[i]) for a 2-byte type that MPI does not know.
template <class T>
void add_16_bit(void* x, void* sum, int* count, MPI_Datatype*) {
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(sum);
  for (int i = 0; i < *count; ++i) to[i] = narrow<T>(widen(to[i]) + widen(from[i]));
}

// The type of an element on the wire and its addition; frees what it has made.
class WireType {
 public:
  explicit WireType(Dtype dtype) {
    if (dtype == Dtype::fp32) return;
    check(MPI_Type_contiguous(2, MPI_BYTE, &type_), "MPI_Type_contiguous");
    check(MPI_Type_commit(&type_), "MPI_Type_commit");
    const auto add = dtype == Dtype::fp16 ? add_16_bit<Fp16> : add_16_bit<Bf16>;
    check(MPI_Op_create(add, 1, &sum_), "MPI_Op_create");
  }
  ~WireType() {
    if (type_ == MPI_FLOAT) return;
    MPI_Op_free(&sum_);
    MPI_Type_free(&type_);
  }
  WireType(const WireType&) = delete;
  WireType& operator=(const WireType&) = delete;

  MPI_Datatype type() const { return type_; }
  MPI_Op sum() const { return sum_; }

 private:
  MPI_Datatype type_ = MPI_FLOAT;
  MPI_Op sum_ = MPI_SUM;
};

// A wait inside MPI knows no time-out; it is named when a signal ends it.
class LibraryCommunicator : public Communicator {
 public:
  LibraryCommunicator(Transport& transport, Device& device, Trace& trace, Dtype wire,
                      std::int64_t chunk)
      : Communicator(Algorithm::library, transport, device, trace, wire),
        wire_type_(wire),
        chunk_(std::min<std::int64_t>(chunk, std::numeric_limits<int>::max() / world_size())),
        packed_(
            device.allocate(Memory::communication, "packed chunks", wire, chunk_ * world_size())),
        sum_(device.allocate(Memory::communication, "fp32 sum", Dtype::fp32, chunk_)) {}

 private:
  void do_all_reduce(View buffer, const Partition& partition) override;
  void do_reduce_scatter(View buffer, const Partition& partition) override;
  void do_all_gather(View buffer, const Partition& partition) override;
  void do_reduce(View send, View receive, const Piece& piece) override;
  void do_broadcast(View send, View receive, const Piece& piece) override;

  // Chunk i of every shard, one after the other in packed_.
  View packed(int shard, std::int64_t size) const {
    return packed_.view().slice(shard * size, size);
  }
  // average = round(sum / K); sum is of the wire type, and may be the same memory.
  void divide(View average, View sum);

  Range chunk(Range range, std::int64_t i) const { return chunk_of(range, i * chunk_, chunk_); }
  std::int64_t chunks(Range range) const { return (range.size() + chunk_ - 1) / chunk_; }
  std::string place() const {
    return fmt::format("{} (library, collective {}), waiting for the other ranks", current().name,
                       current().collective);
  }

  WireType wire_type_;
  std::int64_t chunk_;
  Buffer packed_;
  Buffer sum_;
};

void LibraryCommunicator::do_all_reduce(View buffer, const Partition& partition) {
  const Waiting waiting(rank(), place());
  for (std::int64_t i = 0; i < chunks(partition.all()); ++i) {
    const View part = buffer[chunk(partition.all(), i)];
    check(MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), wire_type_.type(),
                        wire_type_.sum(), MPI_COMM_WORLD),
          "MPI_Allreduce");
    divide(part, part);
  }
  trace_.library(current().collective, current().name, buffer[partition.all()]);
}

// Through scratch, since MPI's in-place form overwrites the other shards.
void LibraryCommunicator::do_reduce_scatter(View buffer, const Partition& partition) {
  const Waiting waiting(rank(), place());
  const Range mine = partition.shard(rank());
  for (std::int64_t i = 0; i < chunks(mine); ++i) {
    const View average = buffer[chunk(mine, i)];
    for (int shard = 0; shard < world_size(); ++shard) {
      device_.copy(buffer[chunk(partition.shard(shard), i)], packed(shard, average.size()));
    }
    check(MPI_Reduce_scatter_block(MPI_IN_PLACE, packed_.view().data(),
                                   static_cast<int>(average.size()), wire_type_.type(),
                                   wire_type_.sum(), MPI_COMM_WORLD),
          "MPI_Reduce_scatter_block");
    divide(average, packed(0, average.size()));
  }
  trace_.library(current().collective, current().name, buffer[mine]);
}

void LibraryCommunicator::do_all_gather(View buffer, const Partition& partition) {
  const Waiting waiting(rank(), place());
  const Range mine = partition.shard(rank());
  for (std::int64_t i = 0; i < chunks(mine); ++i) {
    const std::int64_t size = chunk(mine, i).size();
    device_.copy(buffer[chunk(mine, i)], packed(rank(), size));
    check(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, packed_.view().data(),
                        static_cast<int>(size), wire_type_.type(), MPI_COMM_WORLD),
          "MPI_Allgather");
    for (int shard = 0; shard < world_size(); ++shard) {
      if (shard == rank()) continue;
      device_.copy(packed(shard, size), buffer[chunk(partition.shard(shard), i)]);
    }
  }
  trace_.library(current().collective, current().name, buffer[partition.all()]);
}

void LibraryCommunicator::do_reduce(View send, View receive, const Piece& piece) {
  const Waiting waiting(rank(), place());
  for (std::int64_t i = 0; i < chunks(piece.range); ++i) {
    const Range part = chunk(piece.range, i);
    const View sum = packed(0, part.size());
    check(MPI_Reduce(send[part].data(), sum.data(), static_cast<int>(part.size()),
                     wire_type_.type(), wire_type_.sum(), piece.owner, MPI_COMM_WORLD),
          "MPI_Reduce");
    if (rank() == piece.owner) divide(receive[part], sum);
  }
  if (rank() == piece.owner) {
    trace_.library(current().collective, current().name, receive[piece.range]);
  }
}

void LibraryCommunicator::do_broadcast(View send, View receive, const Piece& piece) {
  const Waiting waiting(rank(), place());
  const View held = rank() == piece.owner ? send : receive;
  for (std::int64_t i = 0; i < chunks(piece.range); ++i) {
    const View part = held[chunk(piece.range, i)];
    check(MPI_Bcast(part.data(), static_cast<int>(part.size()), wire_type_.type(), piece.owner,
                    MPI_COMM_WORLD),
          "MPI_Bcast");
  }
  if (rank() == piece.owner) copy_own(send[piece.range], receive[piece.range]);
  trace_.library(current().collective, current().name, receive[piece.range]);
}

void LibraryCommunicator::divide(View average, View sum) {
  const float K = static_cast<float>(world_size());
  if (sum.dtype() == Dtype::fp32) {
    device_.divide(average, sum, K);
  } else {
    const View wide = sum_.view().first(sum.size());
    device_.copy(sum, wide);
    device_.divide(average, wide, K);
  }
}

}  // namespace

std::unique_ptr<Communicator> MpiTransport::make_library_communicator(Device& device, Trace& trace,
                                                                      Dtype wire,
                                                                      std::int64_t chunk) {
  return std::make_unique<LibraryCommunicator>(*this, device, trace, wire, chunk);
}

}  // namespace zero
