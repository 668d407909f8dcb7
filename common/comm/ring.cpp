// Ring collectives: each rank sends to rank + 1 and receives from rank - 1, one chunk at a time.
//
// A chain reduce to an owner starts at owner + 1, which sends its own values. Every rank on the way
// receives the partial sum, adds its own values and sends the new sum on; the owner comes last and
// divides by K.
//
// A ring reduce_scatter is K chain reduces at once, one per owner. At step s of K-1, on rank r,
//   the sum for owner r-s   leaves for rank r+1,
//   the sum for owner r-s-1 arrives from rank r-1.
// Every element meets the same values in the same order as in a chain reduce to its owner: that is
// why whoever reduces everything at once and whoever reduces piece by piece get the same bits.
#include <array>

#include "common/comm/algorithms.h"

namespace zero {
namespace {

class RingCommunicator : public Communicator {
 public:
  RingCommunicator(Transport& transport, Device& device, Trace& trace, Dtype wire,
                   std::int64_t chunk)
      : Communicator(Algorithm::ring, transport, device, trace, wire),
        chunk_(chunk),
        running_{device.allocate(Memory::communication, "running chunk 0", wire, chunk),
                 device.allocate(Memory::communication, "running chunk 1", wire, chunk)} {}

 private:
  void do_all_reduce(View buffer, const Partition& partition) override {
    scatter(buffer, partition, 1, 2 * (world_size() - 1));
    gather(buffer, partition, world_size(), 2 * (world_size() - 1));
  }
  void do_reduce_scatter(View buffer, const Partition& partition) override {
    scatter(buffer, partition, 1, world_size() - 1);
  }
  void do_all_gather(View buffer, const Partition& partition) override {
    gather(buffer, partition, 1, world_size() - 1);
  }
  void do_reduce(View send, View receive, const Piece& piece) override;
  void do_broadcast(View send, View receive, const Piece& piece) override;

  // One round of a chain: chunk i arrives from the rank before while chunk i - 1 leaves for the
  // next. `place` on the chain: 0 begins, world_size - 1 ends. What does not happen has an empty
  // range.
  struct Round {
    bool arrives = false, leaves = false;
    Hop in, out;
  };
  Round plan(Range range, int place, std::int64_t i, Effect effect) const;
  void move(const Round& round, View from, View into);

  // An all_reduce is both, one after the other. Its trace numbers the steps of the two through:
  // this half's first is `first_step` of `steps`.
  void scatter(View buffer, const Partition& partition, int first_step, int steps);
  void gather(View buffer, const Partition& partition, int first_step, int steps);

  int next() const { return after(rank(), 1); }
  int previous() const { return after(rank(), -1); }
  Range chunk(Range range, std::int64_t i) const { return chunk_of(range, i * chunk_, chunk_); }
  std::int64_t chunks(Range range) const { return (range.size() + chunk_ - 1) / chunk_; }
  // One sum leaves while the other arrives.
  View running(std::int64_t which, std::int64_t size) const {
    return running_[static_cast<std::size_t>(which % 2)].view().first(size);
  }
  // `into` = (arrived + own), on the chain's last rank divided by K.
  void add(const Hop& hop, View into, View arrived, View own, bool last);

  std::int64_t chunk_;
  std::array<Buffer, 2> running_;
};

void RingCommunicator::scatter(View buffer, const Partition& partition, int first_step, int steps) {
  const int K = world_size();
  for (std::int64_t i = 0; i < chunks(partition.shard(0)); ++i) {
    for (int step = 1; step < K; ++step) {
      const int label = first_step + step - 1;
      const Range leaving = chunk(partition.shard(after(rank(), -step)), i);
      const Range arriving = chunk(partition.shard(after(rank(), -step - 1)), i);
      const Hop out = hop(label, steps, i, rank(), next(), Effect::add, leaving);
      const Hop in = hop(label, steps, i, previous(), rank(), Effect::add, arriving);

      const View from = step == 1 ? buffer[leaving] : running(step, leaving.size());
      const View arrived = running(step + 1, arriving.size());
      trace_.sent(out, from);
      transport_.exchange(out, from, in, arrived);
      const View own = buffer[arriving];
      add(in, step == K - 1 ? own : arrived, arrived, own, step == K - 1);
    }
  }
}

void RingCommunicator::gather(View buffer, const Partition& partition, int first_step, int steps) {
  for (std::int64_t i = 0; i < chunks(partition.shard(0)); ++i) {
    for (int step = 1; step < world_size(); ++step) {
      // The own shard leaves first; what arrived at one step leaves at the next.
      const int label = first_step + step - 1;
      const Range leaving = chunk(partition.shard(after(rank(), 1 - step)), i);
      const Range arriving = chunk(partition.shard(after(rank(), -step)), i);
      const Hop out = hop(label, steps, i, rank(), next(), Effect::copy, leaving);
      const Hop in = hop(label, steps, i, previous(), rank(), Effect::copy, arriving);

      trace_.sent(out, buffer[leaving]);
      transport_.exchange(out, buffer[leaving], in, buffer[arriving]);
      trace_.received(in, buffer[arriving], View());
    }
  }
}

// The chain: owner + 1, owner + 2, ..., owner.
void RingCommunicator::do_reduce(View send, View receive, const Piece& piece) {
  const int place = after(rank(), -piece.owner - 1);
  const bool last = place == world_size() - 1;
  for (std::int64_t i = 0; i <= chunks(piece.range); ++i) {
    const Round round = plan(piece.range, place, i, Effect::add);
    const View from = place == 0 ? send[round.out.range] : running(i + 1, round.out.range.size());
    const View arrived = running(i, round.in.range.size());
    move(round, from, arrived);
    if (round.arrives) {
      add(round.in, last ? receive[round.in.range] : arrived, arrived, send[round.in.range], last);
    }
  }
}

// The chain: owner, owner + 1, ..., owner - 1.
void RingCommunicator::do_broadcast(View send, View receive, const Piece& piece) {
  const int place = after(rank(), -piece.owner);
  const View source = place == 0 ? send : receive;
  for (std::int64_t i = 0; i <= chunks(piece.range); ++i) {
    const Round round = plan(piece.range, place, i, Effect::copy);
    move(round, source[round.out.range], receive[round.in.range]);
    if (round.arrives) trace_.received(round.in, receive[round.in.range], View());
  }
  if (place == 0) copy_own(send[piece.range], receive[piece.range]);
}

RingCommunicator::Round RingCommunicator::plan(Range range, int place, std::int64_t i,
                                               Effect effect) const {
  const int K = world_size();
  Round round;
  round.arrives = place > 0 && i < chunks(range);
  round.leaves = place < K - 1 && i > 0;
  if (round.arrives) {
    round.in = hop(place, K - 1, i, previous(), rank(), effect, chunk(range, i));
  }
  if (round.leaves) {
    round.out = hop(place + 1, K - 1, i - 1, rank(), next(), effect, chunk(range, i - 1));
  }
  return round;
}

void RingCommunicator::move(const Round& round, View from, View into) {
  if (round.leaves) trace_.sent(round.out, from);
  if (round.leaves && round.arrives) {
    transport_.exchange(round.out, from, round.in, into);
  } else if (round.leaves) {
    transport_.send(round.out, from);
  } else if (round.arrives) {
    transport_.receive(round.in, into);
  }
}

void RingCommunicator::add(const Hop& hop, View into, View arrived, View own, bool last) {
  const int divisor = last ? world_size() : 1;
  device_.add(into, arrived, own, static_cast<float>(divisor));
  trace_.received(hop, into, own, divisor);
}

}  // namespace

std::unique_ptr<Communicator> make_ring_communicator(Transport& transport, Device& device,
                                                     Trace& trace, Dtype wire, std::int64_t chunk) {
  return std::make_unique<RingCommunicator>(transport, device, trace, wire, chunk);
}

}  // namespace zero
