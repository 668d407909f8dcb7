// What an answer to exercise 02 is written against: the ring, and the three collectives to write.
#pragma once

#include <cstddef>
#include <span>

#include "exercises/api/blank.h"

namespace zero::exercise {

// The elements [begin, begin + size) of a vector: those that one rank owns. May be empty.
struct Shard {
  std::size_t begin = 0;
  std::size_t size = 0;
};

// One rank's connection to the others. Sizes are in elements.
class Ring {
 public:
  virtual int rank() const = 0;        // this rank, 0 to K-1
  virtual int world_size() const = 0;  // K

  // What `rank` owns of the N elements: ceil(N/K) each, as long as there are any. The last shards
  // may be shorter, or empty. Throws when there is no such rank.
  virtual Shard shard(int rank) const = 0;

  // Blocks until rank `to` has received all of `out`.
  virtual void send(int to, std::span<const float> out) = 0;
  // Blocks until what rank `from` sends is in `in`, which must have the size that `from` sends.
  virtual void receive(int from, std::span<float> in) = 0;
  // A send and a receive at the same time: blocks until both are done. `out` and `in` must not
  // overlap.
  virtual void exchange(int to, std::span<const float> out, int from, std::span<float> in) = 0;

 protected:
  ~Ring() = default;
};

// All three are called by every rank at once, each with its own `data` (N).
// Below, o is the owner of an element, g[r] rank r's value of it, and ranks count modulo K.

// Before: data is g[rank]. Afterwards data[own shard] is the average over the ranks, in fp32:
//   a = g[o+1];  a = a + g[r] for r = o+2, ..., o-1;  average = (a + g[o]) / K
// What is in the other shards then does not matter.
void ring_reduce_scatter(Ring& ring, std::span<float> data);

// Before: data[own shard] is of interest. Afterwards every rank has every owner's shard.
void ring_all_gather(Ring& ring, std::span<float> data);

// Before: data is g[rank]. Afterwards all of it is the average, on every rank.
void ring_all_reduce(Ring& ring, std::span<float> data);

}  // namespace zero::exercise
