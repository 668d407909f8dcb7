// The ring's time in closed form: longest paths through the steps of ring.cpp.
//
// A message takes T = latency + W, where W = bytes / bandwidth, and the receiver needs A to add it
// (0 where it only copies). In an exchange a rank goes on when its message has left and the other
// has arrived: T after it began, at least.
//
// Around the ring (scatter, gather) everybody sends in every step. The longest path waits for the
// slowest link in each of them:
//   steps * (T of the slowest link + A)
//
// A chain hands n chunks from place 0 to place K-1; only the last chunk may be smaller. Let c(p, i)
// be the moment when place p has done its round i, in which chunk i arrives and chunk i-1 leaves:
//   c(p, i) = max(c(p, i-1) + max(T to p+1, W from p-1), c(p-1, i) + T from p-1) + A
// So c is the length of the longest path over a grid, which goes one place on, or one round. As
// long as all chunks are of one size, a round costs the same whenever it is done, and all of them
// are done at the slowest place so far. This is the pipeline of the textbooks:
//   c(p, i) = the way of a chunk to place p + i * (the slowest round at places 0 ... p)
// The last round and the last chunk's way are shorter. With p the place of the last round,
//   c(K-1, n-1) = max over p of  c(p, n-2) + the last round at p + the last chunk's way from p on
#include "common/comm/ring_time.h"

#include <algorithm>

namespace zero {

RingTime::RingTime(const Hardware& hardware, int world_size, std::int64_t chunk, Dtype wire)
    : hardware_(hardware),
      world_size_(world_size),
      nodes_((world_size + hardware.gpus_per_node - 1) / hardware.gpus_per_node),
      chunk_(chunk),
      wire_(wire),
      whole_chunk_(message(chunk, Effect::add)) {}

Picoseconds RingTime::all_reduce(std::int64_t shard_size) const {
  return reduce_scatter(shard_size) + all_gather(shard_size);
}

Picoseconds RingTime::reduce_scatter(std::int64_t shard_size) const {
  return around(shard_size, Effect::add);
}

Picoseconds RingTime::all_gather(std::int64_t shard_size) const {
  return around(shard_size, Effect::copy);
}

// The owner comes last.
Picoseconds RingTime::reduce(std::int64_t size, int owner) const {
  return chain(size, (owner + 1) % world_size_, Effect::add);
}

// The owner has sent everything, and copies what is its own, while the last chunk travels on.
Picoseconds RingTime::broadcast(std::int64_t size, int owner, bool in_place) const {
  if (world_size_ == 1 || size == 0) return 0;
  const Picoseconds arrived = chain(size, owner, Effect::copy);
  if (in_place) return arrived;
  const Way way = way_to(owner, 1);
  const Picoseconds sent = (chunks(size) - 1) * whole_chunk_.transfer[way] +
                           message(last_chunk(size), Effect::copy).transfer[way];
  return std::max(arrived, sent + time_of(copy_cost(size, wire_, wire_), wire_, hardware_.gpu));
}

RingTime::Message RingTime::message(std::int64_t size, Effect effect) const {
  const std::int64_t bytes = size * bytes_of(wire_);
  Message message;
  message.transfer = {transfer_time(hardware_.link, bytes),
                      transfer_time(hardware_.network, bytes)};
  message.wire = {wire_time(hardware_.link, bytes), wire_time(hardware_.network, bytes)};
  if (effect == Effect::add) message.add = time_of(add_cost(size, wire_), wire_, hardware_.gpu);
  return message;
}

RingTime::Message RingTime::whole_chunk(Effect effect) const {
  Message message = whole_chunk_;
  if (effect == Effect::copy) message.add = 0;
  return message;
}

std::int64_t RingTime::last_chunk(std::int64_t size) const {
  return size - (chunks(size) - 1) * chunk_;
}

Picoseconds RingTime::around(std::int64_t shard_size, Effect effect) const {
  if (world_size_ == 1 || shard_size == 0) return 0;
  const Picoseconds whole = slowest_step(whole_chunk(effect));
  const Picoseconds last = slowest_step(message(last_chunk(shard_size), effect));
  return (world_size_ - 1) * ((chunks(shard_size) - 1) * whole + last);
}

// A path may go on to the next rank in any step, at no cost. So it does not matter when the slowest
// link is of one kind for whole chunks and of the other for the last.
Picoseconds RingTime::slowest_step(const Message& message) const {
  Picoseconds slowest = 0;
  if (hardware_.gpus_per_node > 1) slowest = message.transfer[inside];
  if (nodes_ > 1) slowest = std::max(slowest, message.transfer[across]);
  return slowest + message.add;
}

// Of two places with the same links the later one has the longer path: whole chunks travel further,
// and its rounds so far are no faster. What sets the last round apart is a link, either the one to
// the place or the one from it; so the longest path turns at an end of the last link of either
// kind. One of the two kinds ends at the last place. Links between nodes end where its node begins;
// those inside a node one or two places earlier, since only the last node may be a single GPU. Any
// other place is a path as well: looking at too many changes nothing.
Picoseconds RingTime::chain(std::int64_t size, int first, Effect effect) const {
  if (world_size_ == 1 || size == 0) return 0;
  const int end = world_size_ - 1;
  const Message chunk = whole_chunk(effect);
  const Message last = message(last_chunk(size), effect);
  const Picoseconds last_on_its_way = travel(first, end, last);
  const std::int64_t n = chunks(size);
  if (n == 1) return last_on_its_way;

  const int node_begins = end - (first + end) % world_size_ % hardware_.gpus_per_node;
  Picoseconds longest = 0;
  for (const int place : {end, end - 1, end - 2, end - 3, node_begins, node_begins - 1}) {
    if (place < 0) continue;
    const Picoseconds before =
        travel(first, place, chunk) + (n - 2) * slowest_round(first, place, chunk);
    const Picoseconds after = last_on_its_way - travel(first, place, last);
    longest = std::max(longest, before + last_round(first, place, chunk, last) + after);
  }
  return longest;
}

RingTime::Way RingTime::way_to(int first, int place) const {
  const int rank = (first + place) % world_size_;
  return nodes_ > 1 && rank % hardware_.gpus_per_node == 0 ? across : inside;
}

// How many links between nodes there are on the way to `place`: as many as nodes begin there.
int RingTime::crossings(int first, int place) const {
  if (nodes_ == 1) return 0;
  const int before = first / hardware_.gpus_per_node;
  const int laps = (first + place) / world_size_;
  return laps * nodes_ + (first + place) % world_size_ / hardware_.gpus_per_node - before;
}

// How long one message takes from place 0.
Picoseconds RingTime::travel(int first, int place, const Message& message) const {
  const int across_nodes = crossings(first, place);
  return across_nodes * message.transfer[across] +
         (place - across_nodes) * message.transfer[inside] + place * message.add;
}

// The slowest at the places up to `place`. Of all links but the first, T from the one place covers
// W to the other.
Picoseconds RingTime::slowest_round(int first, int place, const Message& chunk) const {
  const Way way = way_to(first, 1);
  const Picoseconds beginning = chunk.transfer[way];
  if (place == 0) return beginning;
  Picoseconds slowest = chunk.wire[way];
  const int links = std::min(place + 1, world_size_ - 1) - 1;
  const int across_nodes = crossings(first, links + 1) - crossings(first, 1);
  if (across_nodes > 0) slowest = std::max(slowest, chunk.transfer[across]);
  if (across_nodes < links) slowest = std::max(slowest, chunk.transfer[inside]);
  return std::max(beginning, slowest + chunk.add);
}

// A whole chunk leaves `place` while the last arrives there.
Picoseconds RingTime::last_round(int first, int place, const Message& chunk,
                                 const Message& last) const {
  const bool leaves = place < world_size_ - 1;
  const Picoseconds leaving = leaves ? chunk.transfer[way_to(first, place + 1)] : 0;
  if (place == 0) return leaving;
  return std::max(leaving, last.wire[way_to(first, place)]) + last.add;
}

}  // namespace zero
