// The all_gather between ranks that are threads.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "exercises/05_mixed_precision/api.h"

// A namespace of its own: an answer may have classes of these names.
namespace zero::exercise::child {

// What the ranks share during one call of the answer. Thread-safe: each rank calls with its own
// number. Where ranks would wait for ever the process ends and says who waits for whom.
class Meeting {
 public:
  // `call` is for messages: "update in iteration 3".
  Meeting(std::string call, int world_size);

  std::vector<double> all_gather(int rank, double mine);
  // `rank` has returned from the call.
  void leave(int rank);

  int all_gathers(int rank) const { return seats_[static_cast<std::size_t>(rank)].all_gathers; }

 private:
  struct Seat {
    bool waits = false;
    bool left = false;
    int all_gathers = 0;
  };

  // To be called when some wait, and nobody is still at work who may yet come.
  [[noreturn]] void end() const;
  bool nobody_may_come() const;

  const std::string call_;
  std::mutex mutex_;
  std::condition_variable gathered_;
  int rounds_ = 0;  // all_gathers that all ranks have been to
  std::vector<Seat> seats_;
  std::vector<double> coming_;  // of the round under way
  std::vector<double> values_;  // of the last round
};

// One rank's end of a Meeting, which must outlive it.
class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(Meeting& meeting, int rank, int world_size)
      : meeting_(meeting), rank_(rank), world_size_(world_size) {}

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }
  std::vector<double> all_gather(double mine) override { return meeting_.all_gather(rank_, mine); }

 private:
  Meeting& meeting_;
  const int rank_;
  const int world_size_;
};

}  // namespace zero::exercise::child
