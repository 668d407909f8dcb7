// The ring between ranks that are threads: every message is met, written down, and never lost.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "exercises/02_ring/api.h"

// A namespace of its own: an answer may have classes of these names.
namespace zero::exercise::child {

// One line of a rank's log.
struct Message {
  bool sent = false;  // or received
  int peer = 0;
  std::size_t elements = 0;
};

// What the ranks share during one collective. Thread-safe: each rank calls with its own number.
// Where nobody can go on any more the process ends and says who waits for whom.
class Meeting {
 public:
  Meeting(std::string collective, int world_size);

  // Blocks until the posts that are given are met; a null pointer is none. Throws
  // std::invalid_argument where the two sizes differ, or there is no such rank.
  void post(int rank, const int* to, std::span<const float> out, const int* from,
            std::span<float> in);
  // `rank` has returned from the collective.
  void leave(int rank);

  const std::vector<Message>& log(int rank) const { return seat(rank).log; }

 private:
  struct Post {
    bool open = false;  // waits for its peer
    int peer = 0;
    int number = 0;  // the how-manieth of its rank, from 1
  };
  struct Seat {
    Post send, receive;
    std::span<const float> out;
    std::span<float> in;
    int sends = 0, receives = 0;
    bool left = false;
    std::vector<Message> log;
    std::condition_variable met;
  };

  Seat& seat(int rank) { return seats_[static_cast<std::size_t>(rank)]; }
  const Seat& seat(int rank) const { return seats_[static_cast<std::size_t>(rank)]; }
  void check_peer(int rank, const char* what, int peer) const;
  void write_down(int rank, const Message& message);
  // Moves the message from one rank to another if both wait for it.
  void match(int from, int to);
  void end_if_stuck() const;

  const std::string collective_;
  const int world_size_;
  std::mutex mutex_;
  std::vector<Seat> seats_;
  bool failed_ = false;  // the error that was thrown says why nobody can go on
};

// One rank's end of a Meeting, which must outlive it, over vectors of `elements` elements.
class ThreadRing final : public Ring {
 public:
  ThreadRing(Meeting& meeting, int rank, int world_size, std::size_t elements)
      : meeting_(meeting), rank_(rank), world_size_(world_size), elements_(elements) {}

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }
  Shard shard(int rank) const override;
  void send(int to, std::span<const float> out) override {
    meeting_.post(rank_, &to, out, nullptr, {});
  }
  void receive(int from, std::span<float> in) override {
    meeting_.post(rank_, nullptr, {}, &from, in);
  }
  void exchange(int to, std::span<const float> out, int from, std::span<float> in) override;

 private:
  Meeting& meeting_;
  const int rank_;
  const int world_size_;
  const std::size_t elements_;
};

}  // namespace zero::exercise::child
