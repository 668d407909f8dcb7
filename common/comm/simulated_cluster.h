// What the ranks of a simulation share: their clocks, the messages between them, and their fibers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/device/simulated/hardware.h"
#include "common/fibers/fibers.h"
#include "common/trace/hop.h"

namespace zero {

// All ranks are fibers of one thread: between two waits nobody else changes anything here.
class SimulatedCluster {
 public:
  SimulatedCluster(const Hardware& hardware, int world_size, bool representative);

  // Runs program(rank) for every rank, or for rank 0 alone. It must not throw.
  void run(const std::function<void(int)>& program) { fibers_.run(program); }

  int world_size() const { return world_size_; }
  bool representative() const { return representative_; }
  const Hardware& hardware() const { return hardware_; }
  VirtualClock& clock(int rank) { return rank_of(rank).clock; }

  // As Transport's functions of these names. A send waits only while an earlier message to the same
  // rank has not been taken. That costs no time: how long a message takes is said in simulated.h
  // alone.
  void start_send(int from, int to, std::span<const std::byte> bytes, const Hop* hop);
  void finish_send(int from, int to);
  void receive(int from, int to, std::span<std::byte> bytes, const Hop* hop);

  // Waits until all ranks have come to such a meeting, and goes on `duration` after the last of
  // them came.
  void meet(int rank, Picoseconds duration, const Hop& hop);
  // The same as world_size - 1 rounds of scalars; `all` is what each has brought, in rank order.
  void gather(int rank, std::span<const std::byte> mine, std::span<std::byte> all, const Hop* hop);
  Picoseconds control(int messages) const { return messages * control_; }

  // `rank` has failed: every rank that waits, or will wait, throws Aborted. The first call counts.
  void abort(int rank) noexcept;
  // Throws Aborted when a rank has failed.
  void check_peers(int rank, const Hop* hop) const;
  // `rank` has returned from its program: whoever waits for it throws.
  void end(int rank) noexcept;

 private:
  // What is on its way from one rank to another.
  struct Message {
    bool there = false;
    bool control = false;          // a scalar: it takes as long wherever the ranks are
    std::size_t size = 0;          // bytes
    std::vector<std::byte> bytes;  // empty for tensors of a simulated device
    Picoseconds sent = 0;          // when it left
    Picoseconds done = 0;          // when the sender goes on
  };
  enum class Wait { nobody, rank, meeting, gathering };
  struct Rank {
    VirtualClock clock;
    std::unordered_map<int, Message> from;  // its senders: few, on a ring
    Wait waits = Wait::nobody;
    int peer = -1;             // whom it waits for, with Wait::rank
    std::span<std::byte> all;  // where it wants what a gathering brings together
    Picoseconds last_came = 0;
    bool ended = false;
  };
  // Where all ranks come together. The last to come lets the others go, and all is as before.
  struct Meeting {
    int came = 0;
    Picoseconds last_came = 0;
    std::size_t size = 0;  // bytes that each brings, and the rank that said so
    int first = -1;
    std::vector<std::byte> brought;
  };

  Rank& rank_of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const Rank& rank_of(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  // Stops `rank` until it is woken; throws when what it waits for cannot happen any more.
  void stop(int rank, Wait waits, int peer, const Hop* hop);
  void check_wait(int rank, const Hop* hop) const;
  void wait_for_all(int rank, Meeting& meeting, Wait waits, const Hop* hop);
  void let_all_go(Meeting& meeting, Wait waits);
  // Whom `rank` waits for: of a meeting, one that has ended, or the first that has not come.
  int awaited(int rank) const;
  void wake_if_waiting_for(int rank, int peer);

  const Hardware hardware_;
  const int world_size_;
  const bool representative_;
  const Picoseconds control_;
  std::vector<Rank> ranks_;
  Meeting meeting_, gathering_;
  int failed_ = -1;  // the rank that failed first
  int ended_ = 0;    // how many have
  Fibers fibers_;
};

}  // namespace zero
