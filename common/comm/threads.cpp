// Mailboxes between threads: no copy in the middle, short waits without the operating system.
#include "common/comm/threads.h"

#include <fmt/format.h>

#include <cstring>
#include <thread>

namespace zero {
namespace {

// How long a rank looks at a mailbox before it sleeps. Waking up takes longer than a chunk does:
// two ranks that sleep would go on to wait for each other's waking, chunk after chunk. But where
// looking is in vain, because other programs need the processors, it only makes everyone wait for
// longer: a rank that has looked in vain a few times loses its patience, and tries again now and
// then.
constexpr std::chrono::microseconds kPatience(200), kImpatience(10);
constexpr int kEnough = 3, kTryAgain = 16;
constexpr int kLooks = 1000;  // between two looks at the clock

}  // namespace

ThreadGroup::ThreadGroup(int world_size, double timeout_seconds)
    : world_size_(world_size),
      timeout_(timeout_seconds),
      patient_(world_size <= static_cast<int>(std::thread::hardware_concurrency())),
      mailboxes_(static_cast<std::size_t>(world_size * world_size)),
      bells_(static_cast<std::size_t>(world_size)),
      ended_(static_cast<std::size_t>(world_size)) {}

void ThreadGroup::start_send(int from, int to, std::span<const std::byte> bytes) {
  Mailbox& box = mailbox(from, to);
  box.bytes = bytes;
  box.state.store(Message::full);
  ring(to);
}

void ThreadGroup::finish_send(int from, int to, const Hop* hop) {
  wait(mailbox(from, to), Message::empty, from, to, hop);
}

void ThreadGroup::receive(int from, int to, std::span<std::byte> bytes, const Hop* hop) {
  Mailbox& box = mailbox(from, to);
  Message expected;
  do {  // again if it was taken back between two looks at it: then the sender has failed
    wait(box, Message::full, to, from, hop);
    expected = Message::full;
  } while (!box.state.compare_exchange_strong(expected, Message::reading));
  const std::size_t size = box.bytes.size();
  if (size == bytes.size() && size > 0) std::memcpy(bytes.data(), box.bytes.data(), size);
  box.state.store(Message::empty);
  ring(from);
  if (size != bytes.size()) {
    withdraw(to);
    throw std::length_error(fmt::format("rank {}, {}: rank {} sent {} bytes, expected {}", to,
                                        describe(hop), from, size, bytes.size()));
  }
}

void ThreadGroup::abort(int rank) noexcept {
  int nobody = -1;
  failed_.compare_exchange_strong(nobody, rank);
  for (int other = 0; other < world_size_; ++other) ring(other);
}

void ThreadGroup::check_peers(int rank, const Hop* hop) const {
  const int failed = failed_.load();
  if (failed < 0) return;
  throw Aborted(
      fmt::format("rank {}: stopped in {}, since rank {} failed", rank, describe(hop), failed));
}

void ThreadGroup::end(int rank) noexcept {
  ended_[static_cast<std::size_t>(rank)].store(true);
  for (int other = 0; other < world_size_; ++other) ring(other);
}

void ThreadGroup::wait(const Mailbox& box, Message state, int rank, int peer, const Hop* hop) {
  if (patient_ && look(box, state, bell(rank).in_vain)) return;
  const bool in_time = sleep(box, state, rank, peer);
  if (box.state.load() == state) return;
  withdraw(rank);
  const int failed = failed_.load();
  if (failed >= 0) {
    throw Aborted(
        fmt::format("rank {}: stopped in {} while waiting for rank {}, since rank {} failed", rank,
                    describe(hop), peer, failed));
  }
  if (in_time) {
    throw std::runtime_error(fmt::format("rank {}, {}: rank {} has ended without taking part", rank,
                                         describe(hop), peer));
  }
  throw std::runtime_error(fmt::format("rank {}, {}: nothing from rank {} for {} seconds", rank,
                                       describe(hop), peer, timeout_.count()));
}

bool ThreadGroup::look(const Mailbox& box, Message state, int& in_vain) {
  const auto patience = in_vain < kEnough || in_vain % kTryAgain == 0 ? kPatience : kImpatience;
  if (box.state.load(std::memory_order_acquire) == state) return true;
  std::chrono::steady_clock::time_point begin;
  for (int round = 0; failed_.load() < 0; ++round) {
    for (int i = 0; i < kLooks; ++i) {
      if (box.state.load(std::memory_order_acquire) != state) continue;
      in_vain = 0;
      return true;
    }
    const auto now = std::chrono::steady_clock::now();
    if (round == 0) begin = now;
    if (now - begin > patience) break;
  }
  ++in_vain;
  return false;
}

// The waker changes the state and then looks at `sleeping`; the sleeper sets `sleeping` and then
// looks at the state. All four are sequentially consistent, so at least one sees the other.
bool ThreadGroup::sleep(const Mailbox& box, Message state, int rank, int peer) {
  Bell& mine = bell(rank);
  std::unique_lock lock(mine.mutex);
  mine.sleeping.store(true);
  const auto over = [&] {
    // `ended` first: who has ended sends nothing more.
    const bool ended = ended_[static_cast<std::size_t>(peer)].load();
    return box.state.load() == state || ended || failed_.load() >= 0;
  };
  const bool in_time = mine.rung.wait_for(lock, timeout_, over);
  mine.sleeping.store(false);
  return in_time;
}

void ThreadGroup::ring(int rank) noexcept {
  Bell& theirs = bell(rank);
  if (!theirs.sleeping.load()) return;
  const std::lock_guard lock(theirs.mutex);
  theirs.rung.notify_one();
}

void ThreadGroup::withdraw(int from) noexcept {
  for (int to = 0; to < world_size_; ++to) {
    Mailbox& box = mailbox(from, to);
    Message expected = Message::full;
    if (box.state.compare_exchange_strong(expected, Message::empty)) continue;
    while (box.state.load() == Message::reading) std::this_thread::yield();
  }
}

}  // namespace zero
