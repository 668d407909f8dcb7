// Messages that carry virtual time between fibers, and places where all ranks meet.
#include "common/comm/simulated_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "common/comm/transport.h"

namespace zero {
namespace {

// Scalars, and what a collective's ranks agree on before the first tensor leaves.
bool is_control(const Hop* hop) { return !hop || hop->algorithm.empty() || hop->step == 0; }

void check_size(int rank, const Hop* hop, int from, std::size_t sent, std::size_t expected) {
  if (sent == expected) return;
  throw std::length_error(fmt::format("rank {}, {}: rank {} sent {} bytes, expected {}", rank,
                                      describe(hop), from, sent, expected));
}

}  // namespace

SimulatedCluster::SimulatedCluster(const Hardware& hardware, int world_size, bool representative)
    : hardware_(hardware),
      world_size_(world_size),
      representative_(representative),
      control_(to_picoseconds(hardware.control_seconds)),
      ranks_(representative ? 1 : static_cast<std::size_t>(world_size)),
      fibers_(representative ? 1 : world_size) {}

// ---- messages ----

void SimulatedCluster::start_send(int from, int to, std::span<const std::byte> bytes,
                                  const Hop* hop) {
  Message& message = rank_of(to).from[from];
  while (message.there) stop(from, Wait::rank, to, hop);
  message.there = true;
  message.control = is_control(hop);
  message.size = bytes.size();
  message.bytes.clear();
  if (bytes.data()) message.bytes.assign(bytes.begin(), bytes.end());
  message.sent = clock(from).now();
  message.done =
      message.sent + (message.control ? control_
                                      : transfer_time(hardware_.between(from, to),
                                                      static_cast<std::int64_t>(bytes.size())));
  wake_if_waiting_for(to, from);
}

void SimulatedCluster::finish_send(int from, int to) {
  clock(from).communicate_until(rank_of(to).from[from].done);
}

void SimulatedCluster::receive(int from, int to, std::span<std::byte> bytes, const Hop* hop) {
  Message& message = rank_of(to).from[from];
  while (!message.there) stop(to, Wait::rank, from, hop);
  message.there = false;
  wake_if_waiting_for(from, to);
  check_size(to, hop, from, message.size, bytes.size());
  if (bytes.data() && !message.bytes.empty()) {
    std::memcpy(bytes.data(), message.bytes.data(), message.size);
  }

  VirtualClock& mine = clock(to);
  if (message.control) {
    mine.communicate_until(std::max(mine.now(), message.sent) + control_);
  } else {
    const Picoseconds wire = wire_time(hardware_.between(from, to), std::ssize(bytes));
    mine.communicate_until(std::max(message.done, mine.now() + wire));
  }
}

// ---- all ranks together ----

void SimulatedCluster::meet(int rank, Picoseconds duration, const Hop& hop) {
  Rank& mine = rank_of(rank);
  mine.last_came = mine.clock.now();
  if (!representative_) wait_for_all(rank, meeting_, Wait::meeting, &hop);
  mine.clock.communicate_until(mine.last_came + duration);
}

void SimulatedCluster::gather(int rank, std::span<const std::byte> mine, std::span<std::byte> all,
                              const Hop* hop) {
  const std::size_t size = mine.size();
  Rank& me = rank_of(rank);
  me.last_came = me.clock.now();
  if (representative_) {
    for (std::size_t at = 0; at + size <= all.size() && size > 0; at += size) {
      std::copy(mine.begin(), mine.end(), all.subspan(at).begin());
    }
  } else {
    if (gathering_.came == 0) {
      gathering_.size = size;
      gathering_.first = rank;
      gathering_.brought.resize(size * static_cast<std::size_t>(world_size_));
    }
    check_size(rank, hop, gathering_.first, gathering_.size, size);
    std::copy(mine.begin(), mine.end(),
              std::span(gathering_.brought).subspan(static_cast<std::size_t>(rank) * size).begin());
    me.all = all;
    wait_for_all(rank, gathering_, Wait::gathering, hop);
  }
  me.clock.communicate_until(me.last_came + control(world_size_ - 1));
}

void SimulatedCluster::wait_for_all(int rank, Meeting& meeting, Wait waits, const Hop* hop) {
  Rank& mine = rank_of(rank);
  meeting.last_came = std::max(meeting.last_came, mine.clock.now());
  mine.waits = waits;
  if (++meeting.came == world_size_) {
    let_all_go(meeting, waits);
  } else {
    while (mine.waits == waits) stop(rank, waits, -1, hop);
  }
}

void SimulatedCluster::let_all_go(Meeting& meeting, Wait waits) {
  for (int rank = 0; rank < world_size_; ++rank) {
    Rank& other = rank_of(rank);
    other.waits = Wait::nobody;
    other.last_came = meeting.last_came;
    if (waits == Wait::gathering) {
      std::copy(meeting.brought.begin(), meeting.brought.end(), other.all.begin());
    }
    fibers_.wake(rank);
  }
  meeting.came = 0;
  meeting.last_came = 0;
}

// ---- waiting, and failures ----

void SimulatedCluster::stop(int rank, Wait waits, int peer, const Hop* hop) {
  rank_of(rank).waits = waits;
  rank_of(rank).peer = peer;
  check_wait(rank, hop);
  const bool woken = fibers_.wait();
  if (!woken) {
    check_wait(rank, hop);  // the first to be told has failed by now
    throw std::runtime_error(
        fmt::format("rank {}, {}: waits for rank {}, which waits itself: nobody can go on", rank,
                    describe(hop), awaited(rank)));
  }
  if (waits == Wait::rank) rank_of(rank).waits = Wait::nobody;
}

void SimulatedCluster::check_wait(int rank, const Hop* hop) const {
  if (failed_ >= 0) {
    throw Aborted(
        fmt::format("rank {}: stopped in {} while waiting for rank {}, since rank {} failed", rank,
                    describe(hop), awaited(rank), failed_));
  }
  if (ended_ == 0) return;
  const int peer = awaited(rank);
  if (!rank_of(peer).ended) return;
  throw std::runtime_error(
      fmt::format("rank {}, {}: rank {} has ended without taking part", rank, describe(hop), peer));
}

int SimulatedCluster::awaited(int rank) const {
  const Rank& mine = rank_of(rank);
  if (mine.waits == Wait::rank) return mine.peer;
  int missing = rank;
  for (int other = world_size_ - 1; other >= 0; --other) {
    if (rank_of(other).ended) return other;
    if (rank_of(other).waits != mine.waits) missing = other;
  }
  return missing;
}

void SimulatedCluster::wake_if_waiting_for(int rank, int peer) {
  const Rank& other = rank_of(rank);
  if (other.waits == Wait::rank && other.peer == peer) fibers_.wake(rank);
}

void SimulatedCluster::abort(int rank) noexcept {
  if (failed_ < 0) failed_ = rank;
  for (int other = 0; other < std::ssize(ranks_); ++other) fibers_.wake(other);
}

void SimulatedCluster::check_peers(int rank, const Hop* hop) const {
  if (failed_ < 0) return;
  throw Aborted(
      fmt::format("rank {}: stopped in {}, since rank {} failed", rank, describe(hop), failed_));
}

void SimulatedCluster::end(int rank) noexcept {
  rank_of(rank).ended = true;
  ++ended_;
  for (int other = 0; other < std::ssize(ranks_); ++other) {
    const Rank& waiting = rank_of(other);
    if (waiting.waits != Wait::rank || waiting.peer == rank) fibers_.wake(other);
  }
}

}  // namespace zero
