// Ranks that are threads of one process: the sender shows where its bytes are, the receiver copies
// them from there straight to where they belong.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "common/comm/transport.h"

namespace zero {

// What the ranks of a process share: a mailbox for each pair, and who has failed or ended.
// Thread-safe: each rank calls with its own number.
class ThreadGroup {
 public:
  ThreadGroup(int world_size, double timeout_seconds);

  int world_size() const { return world_size_; }

  // As Transport's functions of these names.
  void start_send(int from, int to, std::span<const std::byte> bytes);
  void finish_send(int from, int to, const Hop* hop);
  void receive(int from, int to, std::span<std::byte> bytes, const Hop* hop);

  // `rank` has failed: every rank that waits, or will wait, throws Aborted. The first call counts.
  void abort(int rank) noexcept;
  // Throws Aborted when a rank has failed.
  void check_peers(int rank, const Hop* hop) const;
  // `rank` has returned from its program: whoever waits for it throws.
  void end(int rank) noexcept;

 private:
  // Who may touch `bytes`: the sender when empty, the receiver when reading.
  enum class Message { empty, full, reading };
  struct alignas(64) Mailbox {
    std::atomic<Message> state = Message::empty;
    std::span<const std::byte> bytes;  // the sender's memory
  };
  // Wakes one rank.
  struct alignas(64) Bell {
    std::mutex mutex;
    std::condition_variable rung;
    std::atomic<bool> sleeping = false;
    int in_vain = 0;  // waits since the last one that was over before it slept; its own rank's
  };

  Mailbox& mailbox(int from, int to) {
    return mailboxes_[static_cast<std::size_t>(from * world_size_ + to)];
  }
  Bell& bell(int rank) { return bells_[static_cast<std::size_t>(rank)]; }

  // Returns when `box` is in `state`. Throws when that cannot happen any more or takes too long.
  void wait(const Mailbox& box, Message state, int rank, int peer, const Hop* hop);
  // Whether `box` was in `state` before the patience, or the time-out, was over.
  bool look(const Mailbox& box, Message state, int& in_vain);
  bool sleep(const Mailbox& box, Message state, int rank, int peer);
  // Wakes `rank` if it sleeps. To be called after the change it waits for.
  void ring(int rank) noexcept;
  // After a failure: takes back what `from` has offered, and waits until nobody reads it, since the
  // memory is about to be freed.
  void withdraw(int from) noexcept;

  const int world_size_;
  const std::chrono::duration<double> timeout_;
  const bool patient_;  // whether each rank has a processor: then it looks for a while, then sleeps
  std::vector<Mailbox> mailboxes_;
  std::vector<Bell> bells_;
  std::vector<std::atomic<bool>> ended_;
  std::atomic<int> failed_ = -1;  // the rank that failed first
};

// One rank's end of a ThreadGroup, which must outlive it.
class ThreadTransport : public Transport {
 public:
  ThreadTransport(ThreadGroup& group, int rank) : group_(group), rank_(rank) {}

  int rank() const override { return rank_; }
  int world_size() const override { return group_.world_size(); }
  void abort(const std::string&) noexcept override { group_.abort(rank_); }
  void check_peers(const Hop* hop) override { group_.check_peers(rank_, hop); }

  void start_send(int to, std::span<const std::byte> bytes, const Hop*) override {
    group_.start_send(rank_, to, bytes);
  }
  void finish_send(int to, const Hop* hop) override { group_.finish_send(rank_, to, hop); }
  void receive_bytes(int from, std::span<std::byte> bytes, const Hop* hop) override {
    group_.receive(from, rank_, bytes, hop);
  }

 private:
  ThreadGroup& group_;
  const int rank_;
};

}  // namespace zero
