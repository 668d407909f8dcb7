// How long the ring's collectives take, without a message.
#pragma once

#include <cstdint>
#include <memory>

#include "common/comm/communicator.h"
#include "common/device/simulated/hardware.h"

namespace zero {

class SimulatedTransport;

// The time from the moment when all `world_size` ranks enter a collective of ring.cpp until the
// last of them leaves it, equal to the picosecond to what SimulatedTransport takes message by
// message (where the network is no faster than the link). Sizes in elements of the type `wire`,
// messages of at most `chunk` elements.
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
  Hardware hardware_;
  int world_size_;
  std::int64_t chunk_;
  Dtype wire_;
};

// The ring's collectives in closed form: the ranks meet, and time passes; each rank counts the
// bytes that it would have sent. The trace tells one opaque event for each (Trace::library).
// Allocates the same scratch as the ring.
std::unique_ptr<Communicator> make_ring_time_communicator(SimulatedTransport& transport,
                                                          Device& device, Trace& trace, Dtype wire,
                                                          std::int64_t chunk);

}  // namespace zero
