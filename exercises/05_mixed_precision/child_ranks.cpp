// The all_gather between ranks that are threads: see child_ranks.h.
#include "exercises/05_mixed_precision/child_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "exercises/api/child.h"

namespace zero::exercise::child {
namespace {

// Of one rank in one call: an answer that gathers without end is stopped here.
constexpr int kMostAllGathers = 1000;

}  // namespace

Meeting::Meeting(std::string call, int world_size)
    : call_(std::move(call)),
      seats_(static_cast<std::size_t>(world_size)),
      coming_(static_cast<std::size_t>(world_size)),
      values_(static_cast<std::size_t>(world_size)) {}

std::vector<double> Meeting::all_gather(int rank, double mine) {
  std::unique_lock lock(mutex_);
  Seat& own = seats_[static_cast<std::size_t>(rank)];
  if (own.all_gathers == kMostAllGathers) {
    throw std::runtime_error(
        fmt::format("rank {}: more than {} all_gathers in one {}", rank, kMostAllGathers, call_));
  }
  ++own.all_gathers;
  own.waits = true;
  coming_[static_cast<std::size_t>(rank)] = mine;
  if (std::ranges::all_of(seats_, &Seat::waits)) {
    values_ = coming_;
    ++rounds_;
    for (Seat& seat : seats_) seat.waits = false;
    gathered_.notify_all();
    return values_;
  }
  if (nobody_may_come()) end();
  const int round = rounds_;
  gathered_.wait(lock, [&] { return rounds_ > round; });
  // The next round needs this rank too, so these are still this round's.
  return values_;
}

void Meeting::leave(int rank) {
  const std::scoped_lock lock(mutex_);
  seats_[static_cast<std::size_t>(rank)].left = true;
  if (std::ranges::any_of(seats_, &Seat::waits) && nobody_may_come()) end();
}

bool Meeting::nobody_may_come() const {
  return std::ranges::all_of(seats_, [](const Seat& seat) { return seat.waits || seat.left; });
}

void Meeting::end() const {
  std::string who;
  for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
    const Seat& at = seats_[rank];
    who += fmt::format("{}rank {} {}", rank > 0 ? "; " : "", rank,
                       at.waits ? fmt::format("waits in all_gather (its call {})", at.all_gathers)
                                : fmt::format("has returned after {} of them", at.all_gathers));
  }
  end_because_ranks_wait(fmt::format("{}: {}", call_, who));
}

}  // namespace zero::exercise::child
