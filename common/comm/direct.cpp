// Direct collectives: everyone sends to the owner, who adds in rank order in fp32 and rounds once.
//
// The order does not depend on the owner, and no partial sum is rounded to the wire type; the price
// is that the owner receives every contribution itself, while the others wait for their turn.
#include "common/comm/algorithms.h"

namespace zero {
namespace {

class DirectCommunicator : public Communicator {
 public:
  DirectCommunicator(Transport& transport, Device& device, Trace& trace, Dtype wire,
                     std::int64_t chunk)
      : Communicator(Algorithm::direct, transport, device, trace, wire),
        chunk_(chunk),
        incoming_(device.allocate(Memory::communication, "incoming chunk", wire, chunk)),
        sum_(device.allocate(Memory::communication, "fp32 sum", Dtype::fp32, chunk)) {}

 private:
  void do_all_reduce(View buffer, const Partition& partition) override {
    const int steps = 2 * (world_size() - 1);
    for (const Piece& piece : partition.pieces(partition.all())) {
      reduce_piece(buffer, buffer, piece, 1, steps);
    }
    for (const Piece& piece : partition.pieces(partition.all())) {
      broadcast_piece(buffer, buffer, piece, world_size(), steps);
    }
  }
  void do_reduce_scatter(View buffer, const Partition& partition) override {
    for (const Piece& piece : partition.pieces(partition.all())) do_reduce(buffer, buffer, piece);
  }
  void do_all_gather(View buffer, const Partition& partition) override {
    for (const Piece& piece : partition.pieces(partition.all())) {
      do_broadcast(buffer, buffer, piece);
    }
  }
  void do_reduce(View send, View receive, const Piece& piece) override {
    reduce_piece(send, receive, piece, 1, world_size() - 1);
  }
  void do_broadcast(View send, View receive, const Piece& piece) override {
    broadcast_piece(send, receive, piece, 1, world_size() - 1);
  }

  void reduce_piece(View send, View receive, const Piece& piece, int first_step, int steps);
  // The owner's part: the sum of one chunk over all ranks, which lands in `average`.
  void add_up(View own, View average, const Piece& piece, std::int64_t i, int first_step,
              int steps);
  void broadcast_piece(View send, View receive, const Piece& piece, int first_step, int steps);

  // Rank `from`'s values for chunk i of the piece, on their way to the owner's sum.
  Hop contribution(int from, const Piece& piece, std::int64_t i, int first_step, int steps) const;

  // The owner's messages are numbered in rank order, itself left out.
  int turn(int rank, int owner) const { return std::max(0, rank < owner ? rank : rank - 1); }
  Range chunk(Range range, std::int64_t i) const { return chunk_of(range, i * chunk_, chunk_); }
  std::int64_t chunks(Range range) const { return (range.size() + chunk_ - 1) / chunk_; }

  std::int64_t chunk_;
  Buffer incoming_;
  Buffer sum_;
};

void DirectCommunicator::reduce_piece(View send, View receive, const Piece& piece, int first_step,
                                      int steps) {
  for (std::int64_t i = 0; i < chunks(piece.range); ++i) {
    const Range part = chunk(piece.range, i);
    if (rank() == piece.owner) {
      add_up(send[part], receive[part], piece, i, first_step, steps);
    } else {
      const Hop out = contribution(rank(), piece, i, first_step, steps);
      trace_.sent(out, send[part]);
      transport_.send(out, send[part]);
    }
  }
}

void DirectCommunicator::add_up(View own, View average, const Piece& piece, std::int64_t i,
                                int first_step, int steps) {
  const int K = world_size();
  const View sum = sum_.view().first(own.size());
  const View incoming = incoming_.view().first(own.size());
  for (int from = 0; from < K; ++from) {
    const Hop in = contribution(from, piece, i, first_step, steps);
    if (from != piece.owner) transport_.receive(in, incoming);
    const View x = from == piece.owner ? own : incoming;
    if (from == 0) device_.copy(x, sum);
    else device_.accumulate(sum, x);
    if (from == piece.owner) trace_.moved(in, own, sum);
    else trace_.received(in, sum, View());
  }
  device_.divide(average, sum, static_cast<float>(K));
  Hop landing = contribution(piece.owner, piece, i, first_step, steps);
  landing.effect = Effect::copy;
  trace_.moved(landing, sum, average, K);
}

Hop DirectCommunicator::contribution(int from, const Piece& piece, std::int64_t i, int first_step,
                                     int steps) const {
  return hop(first_step + turn(from, piece.owner), steps, i, from, piece.owner,
             from == 0 ? Effect::copy : Effect::add, chunk(piece.range, i));
}

void DirectCommunicator::broadcast_piece(View send, View receive, const Piece& piece,
                                         int first_step, int steps) {
  for (std::int64_t i = 0; i < chunks(piece.range); ++i) {
    const Range part = chunk(piece.range, i);
    for (int to = 0; to < world_size(); ++to) {
      if (to == piece.owner || (rank() != piece.owner && rank() != to)) continue;
      const Hop message =
          hop(first_step + turn(to, piece.owner), steps, i, piece.owner, to, Effect::copy, part);
      if (rank() == piece.owner) {
        trace_.sent(message, send[part]);
        transport_.send(message, send[part]);
      } else {
        transport_.receive(message, receive[part]);
        trace_.received(message, receive[part], View());
      }
    }
  }
  if (rank() == piece.owner) copy_own(send[piece.range], receive[piece.range]);
}

}  // namespace

std::unique_ptr<Communicator> make_direct_communicator(Transport& transport, Device& device,
                                                       Trace& trace, Dtype wire,
                                                       std::int64_t chunk) {
  return std::make_unique<DirectCommunicator>(transport, device, trace, wire, chunk);
}

}  // namespace zero
