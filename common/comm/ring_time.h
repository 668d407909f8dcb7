// How long the ring's collectives take, without a message.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "common/comm/communicator.h"
#include "common/device/simulated/hardware.h"

namespace zero {

class SimulatedTransport;

// The time from the moment when all `world_size` ranks enter a collective of ring.cpp until the
// last of them leaves it, equal to the picosecond to what SimulatedTransport takes message by
// message. Sizes in elements of the type `wire`, messages of at most `chunk` elements. A call costs
// the same for any number of ranks and chunks.
class RingTime {
 public:
  RingTime(const Hardware& hardware, int world_size, std::int64_t chunk, Dtype wire);

  Picoseconds all_reduce(std::int64_t shard_size) const;
  Picoseconds reduce_scatter(std::int64_t shard_size) const;
  Picoseconds all_gather(std::int64_t shard_size) const;
  // `in_place`: the owner's own values are where they belong already.
  Picoseconds reduce(std::int64_t size, int owner) const;
  Picoseconds broadcast(std::int64_t size, int owner, bool in_place) const;

 private:
  // Where two neighbours on the ring are: in one node, or in two.
  enum Way { inside, across };
  // What a message of one size costs.
  struct Message {
    std::array<Picoseconds, 2> transfer{};  // until it has arrived, by its way
    std::array<Picoseconds, 2> wire{};      // the same without the latency
    Picoseconds add = 0;                    // what the receiver does with it
  };
  Message message(std::int64_t size, Effect effect) const;
  Message whole_chunk(Effect effect) const;
  std::int64_t last_chunk(std::int64_t size) const;  // elements: 1 to chunk
  std::int64_t chunks(std::int64_t size) const { return (size + chunk_ - 1) / chunk_; }

  Picoseconds around(std::int64_t shard_size, Effect effect) const;
  Picoseconds slowest_step(const Message& message) const;

  // A chain begins at a rank, place 0, and goes once around the ring.
  Picoseconds chain(std::int64_t size, int first, Effect effect) const;
  Way way_to(int first, int place) const;  // from the place before
  int crossings(int first, int place) const;
  Picoseconds travel(int first, int place, const Message& message) const;
  Picoseconds slowest_round(int first, int place, const Message& chunk) const;
  Picoseconds last_round(int first, int place, const Message& chunk, const Message& last) const;

  Hardware hardware_;
  int world_size_;
  int nodes_;
  std::int64_t chunk_;
  Dtype wire_;
  Message whole_chunk_;
};

// The ring's collectives in closed form: the ranks meet, and time passes; each rank counts the
// bytes that it would have sent. The trace tells one opaque event for each (Trace::library).
// Allocates the same scratch as the ring. All references must outlive it.
std::unique_ptr<Communicator> make_ring_time_communicator(SimulatedTransport& transport,
                                                          Device& device, Trace& trace, Dtype wire,
                                                          std::int64_t chunk);

}  // namespace zero
