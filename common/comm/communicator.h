// The collectives, in NCCL's words. Every reduction averages, in an order that stands here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/comm/partition.h"
#include "common/comm/transport.h"
#include "common/device/device.h"
#include "common/trace/trace.h"

namespace zero {

enum class Algorithm { ring, direct, library };
std::string_view to_string(Algorithm algorithm);

// Every rank of the group calls the same functions in the same order with the same ranges; before
// the first byte of a tensor is sent the neighbours compare what they are about to do, and a
// difference is a std::runtime_error that names both (never a hang).
// Views are indexed by position in the flat vector (see View): each rank passes what it holds.
//
// The average of one element is defined by its owner o alone, whatever the collective:
//   ring     a = g[o+1]
//            a = round(a + g[r])        r = o+2, ..., o-1
//            average = round((a + g[o]) / K)
//   direct   a = g[0]
//            a = a + g[r]               r = 1, ..., K-1, kept in fp32
//            average = round(a / K)
//   library  MPI's (or NCCL's) own sum, in an order of its choice, then divided by K
// Ranks are modulo K; + and / are fp32; round is to the wire type, nearest even. The last sum is
// divided before it is rounded: one rounding, not two. K = 1: the average is the element itself.
class Communicator {
 public:
  // The wire type is that of the buffers. All references must outlive the communicator.
  Communicator(Algorithm algorithm, Transport& transport, Device& device, Trace& trace, Dtype wire);
  virtual ~Communicator() = default;

  int rank() const { return transport_.rank(); }
  int world_size() const { return transport_.world_size(); }

  // In place. Afterwards all of `buffer` is the average, on every rank.
  // Sends 2 (K-1)/K of the padded size: it is reduce_scatter and then all_gather, by definition.
  void all_reduce(View buffer, const Partition& partition);

  // In place. Afterwards buffer[own shard] is the average; the other shards still hold this rank's
  // own values, unchanged. Sends (K-1)/K of the padded size.
  void reduce_scatter(View buffer, const Partition& partition);

  // In place. buffer[shard r] of rank r is copied to every rank. Sends (K-1)/K of the padded size.
  void all_gather(View buffer, const Partition& partition);

  // The average of every rank's send[piece.range] goes to receive[piece.range] of piece.owner.
  // `receive` is not touched elsewhere, and may hold other positions; `send` is not changed, except
  // where it is the same memory. Each rank but the owner sends the piece once.
  void reduce(View send, View receive, const Piece& piece);

  // send[piece.range] of piece.owner goes to receive[piece.range] of every rank, the owner
  // included. `send` of the others is not read, and may hold other positions. The piece is sent K-1
  // times in all: ring: by every rank but owner-1; direct: K-1 times by the owner.
  void broadcast(View send, View receive, const Piece& piece);

  // The 2-norm of the whole averaged gradient, the same bits on every rank and in every stage.
  // `grads` holds at least the own shard, reduced. Squares are summed in fp64, shard by shard,
  // shards in rank order. Not finite if and only if an element of any shard is not finite.
  double global_norm(View grads, const Partition& partition);

  // One small value per rank, in rank order. Counted as scalars, apart from tensors.
  template <typename T>
  std::vector<T> all_gather_scalar(const T& value) {
    std::vector<T> values(static_cast<std::size_t>(world_size()));
    gather_bytes(std::as_bytes(std::span(&value, 1)), std::as_writable_bytes(std::span(values)));
    return values;
  }

  // Bytes that this rank has sent so far. For `library` tensor bytes are not measured: 0.
  std::int64_t tensor_bytes_sent() const { return transport_.tensor_bytes_sent(); }
  std::int64_t scalar_bytes_sent() const { return transport_.scalar_bytes_sent(); }

 protected:
  // Sizes and agreement have been checked, K > 1, and the range is not empty.
  virtual void do_all_reduce(View buffer, const Partition& partition) = 0;
  virtual void do_reduce_scatter(View buffer, const Partition& partition) = 0;
  virtual void do_all_gather(View buffer, const Partition& partition) = 0;
  virtual void do_reduce(View send, View receive, const Piece& piece) = 0;
  virtual void do_broadcast(View send, View receive, const Piece& piece) = 0;

  int after(int rank, int steps) const {  // steps may be negative, down to -world_size
    return (rank + steps + world_size()) % world_size();
  }
  // A hop of the collective under way, without its source, destination, step, chunk and range.
  const Hop& current() const { return current_; }
  // The same, complete.
  Hop hop(int step, int steps, std::int64_t chunk, int source, int destination, Effect effect,
          Range range) const;
  // This rank's own values, unless they are there already.
  void copy_own(View from, View to);

  Transport& transport_;
  Device& device_;
  Trace& trace_;
  Dtype wire_;

 private:
  // Between these two the collective's messages are sent. `begin` tells the trace, compares with
  // the neighbours, and returns whether there is anything to do.
  bool begin(std::string_view name, Range range, int owner, std::int64_t shard_size);
  void end();
  // Whether `view` holds `range`, in the wire type; std::invalid_argument otherwise.
  void check_view(std::string_view name, View view, Range range) const;
  void check_partition(std::string_view name, const Partition& partition) const;
  void check_piece(std::string_view name, const Piece& piece) const;
  // Compares what this rank is about to do with the rank before it on the ring.
  void agree(const Hop& during, Range range, int owner, std::int64_t shard_size);
  void gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all);

  Algorithm algorithm_;
  std::int64_t collectives_ = 0;
  Hop current_;
};

// `chunk` is the elements of a message (tests use small ones). `library` needs a transport that has
// one: std::invalid_argument otherwise.
std::unique_ptr<Communicator> make_communicator(Algorithm algorithm, Transport& transport,
                                                Device& device, Trace& trace, Dtype wire,
                                                std::int64_t chunk = kChunk);

}  // namespace zero
