// Exercise 03: the owner of a shard averages what all ranks contribute to it.
#pragma once

#include <cstdint>
#include <span>

#include "common/memory/dtype.h"  // Fp16, widen (to float, exact), narrow<Half> (rounds once)

namespace zero::exercise {

using Half = Fp16;

// The contributions to the shard of one rank, one from each rank, its own among them. They arrive
// in an order that differs from run to run; each arrives in a slot of its own.
class Inbox {
 public:
  virtual int rank() const = 0;           // the owner, who calls
  virtual int world_size() const = 0;     // K
  virtual std::int64_t size() const = 0;  // elements of each contribution, may be 0

  // Returns when the contribution of `rank` has arrived.
  virtual void wait(int rank) = 0;

  // Returns the rank whose contribution has arrived next, of those that neither wait nor wait_any
  // has returned before. The own contribution is one of them, at any place.
  virtual int wait_any() = 0;

  // The slot for the contribution of `rank`: size() elements, all NaN until it has arrived.
  virtual std::span<const Half> contribution(int rank) const = 0;

 protected:
  ~Inbox() = default;
};

// average[i] = (a[0][i] + a[1][i] + ... + a[K-1][i]) / K, where a[r] is the contribution of rank r:
// added from the left, in rank order, in fp32; divided once, in fp32; rounded to fp16 once.
// average: inbox.size() elements, garbage until they are written.
void reduce_in_rank_order(Inbox& inbox, std::span<Half> average);

}  // namespace zero::exercise
