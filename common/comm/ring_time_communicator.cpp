// The ring's collectives on simulated ranks without their messages: the ranks meet, and time
// passes.
#include "common/comm/ring_time.h"
#include "common/comm/simulated.h"

namespace zero {
namespace {

class RingTimeCommunicator : public Communicator {
 public:
  RingTimeCommunicator(SimulatedTransport& transport, Device& device, Trace& trace, Dtype wire,
                       std::int64_t chunk)
      : Communicator(Algorithm::ring, transport, device, trace, wire),
        meeting_(transport),
        time_(transport.hardware(), transport.world_size(), chunk, wire),
        running_{device.allocate(Memory::communication, "running chunk 0", wire, chunk),
                 device.allocate(Memory::communication, "running chunk 1", wire, chunk)} {}

 private:
  void do_all_reduce(View buffer, const Partition& partition) override {
    const std::int64_t size = partition.shard_size();
    meet(time_.all_reduce(size), 2 * around(size), Effect::add, buffer[partition.all()]);
  }
  void do_reduce_scatter(View buffer, const Partition& partition) override {
    const std::int64_t size = partition.shard_size();
    meet(time_.reduce_scatter(size), around(size), Effect::add, buffer[partition.shard(rank())]);
  }
  void do_all_gather(View buffer, const Partition& partition) override {
    const std::int64_t size = partition.shard_size();
    meet(time_.all_gather(size), around(size), Effect::copy, buffer[partition.all()]);
  }
  // Everybody but the owner, who comes last, sends the piece once.
  void do_reduce(View, View receive, const Piece& piece) override {
    const std::int64_t size = piece.range.size();
    const bool owner = rank() == piece.owner;
    meet(time_.reduce(size, piece.owner), owner ? 0 : size, Effect::add,
         owner ? receive[piece.range] : View());
  }
  // Everybody but the last, who is the one before the owner.
  void do_broadcast(View send, View receive, const Piece& piece) override {
    const std::int64_t size = piece.range.size();
    const bool in_place = !send.range().empty() && &send.allocation() == &receive.allocation();
    meet(time_.broadcast(size, piece.owner, in_place), rank() == after(piece.owner, -1) ? 0 : size,
         Effect::copy, receive[piece.range]);
  }

  // Elements that a rank sends when each shard goes once around the ring.
  std::int64_t around(std::int64_t shard_size) const { return (world_size() - 1) * shard_size; }

  // `sent` elements are this rank's; `into` is what it gets, and may be empty.
  void meet(Picoseconds duration, std::int64_t sent, Effect effect, View into) {
    meeting_.meet(duration, sent * bytes_of(wire_),
                  hop(1, 1, 0, rank(), rank(), effect, into.range()));
    if (into.size() > 0) trace_.library(current().collective, current().name, into);
  }

  SimulatedTransport& meeting_;
  const RingTime time_;
  std::array<Buffer, 2> running_;
};

}  // namespace

std::unique_ptr<Communicator> make_ring_time_communicator(SimulatedTransport& transport,
                                                          Device& device, Trace& trace, Dtype wire,
                                                          std::int64_t chunk) {
  return std::make_unique<RingTimeCommunicator>(transport, device, trace, wire, chunk);
}

}  // namespace zero
