// The ring between ranks that are threads: see child_ring.h.
#include "exercises/02_ring/child_ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "exercises/api/child.h"

namespace zero::exercise::child {
namespace {

// Messages of one rank in one collective. Far more than any ring of this exercise needs; an answer
// that sends without end is stopped here.
constexpr std::size_t kMostMessages = 1000;

std::string ordinal(int number) {
  const int tens = number % 100, ones = number % 10;
  const bool teens = tens >= 11 && tens <= 13;
  const char* const ending = teens       ? "th"
                             : ones == 1 ? "st"
                             : ones == 2 ? "nd"
                             : ones == 3 ? "rd"
                                         : "th";
  return fmt::format("{}{}", number, ending);
}

bool overlap(std::span<const float> a, std::span<const float> b) {
  const std::less<const float*> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
         before(b.data(), a.data() + a.size());
}

}  // namespace

Meeting::Meeting(std::string collective, int world_size)
    : collective_(std::move(collective)),
      world_size_(world_size),
      seats_(static_cast<std::size_t>(world_size)) {
  // Beforehand: what the log needs must not count as memory of the answer.
  for (Seat& seat : seats_) seat.log.reserve(kMostMessages);
}

void Meeting::check_peer(int rank, const char* what, int peer) const {
  if (peer >= 0 && peer < world_size_) return;
  throw std::invalid_argument(fmt::format("rank {}: {} rank {} in {}, but the ranks are 0 to {}",
                                          rank, what, peer, collective_, world_size_ - 1));
}

void Meeting::write_down(int rank, const Message& message) {
  std::vector<Message>& log = seat(rank).log;
  if (log.size() == kMostMessages) {
    throw std::invalid_argument(
        fmt::format("rank {}: more than {} messages in one {}", rank, kMostMessages, collective_));
  }
  log.push_back(message);
}

void Meeting::post(int rank, const int* to, std::span<const float> out, const int* from,
                   std::span<float> in) {
  std::unique_lock lock(mutex_);
  Seat& own = seat(rank);
  if (to) {
    check_peer(rank, "send to", *to);
    write_down(rank, {true, *to, out.size()});
    own.out = out;
    own.send = {true, *to, ++own.sends};
  }
  if (from) {
    check_peer(rank, "receive from", *from);
    write_down(rank, {false, *from, in.size()});
    own.in = in;
    own.receive = {true, *from, ++own.receives};
  }
  if (to) match(rank, *to);
  if (from) match(*from, rank);
  end_if_stuck();
  own.met.wait(lock, [&] { return !own.send.open && !own.receive.open; });
}

void Meeting::match(int from, int to) {
  Seat& sender = seat(from);
  Seat& receiver = seat(to);
  if (!sender.send.open || sender.send.peer != to) return;
  if (!receiver.receive.open || receiver.receive.peer != from) return;
  if (sender.out.size() != receiver.in.size()) {
    failed_ = true;
    throw std::invalid_argument(fmt::format(
        "in {} rank {} sends {} elements to rank {} (its {} message), which has room for {}",
        collective_, from, sender.out.size(), to, ordinal(sender.send.number), receiver.in.size()));
  }
  std::ranges::copy(sender.out, receiver.in.begin());
  sender.send.open = receiver.receive.open = false;
  sender.met.notify_all();
  receiver.met.notify_all();
}

void Meeting::leave(int rank) {
  const std::scoped_lock lock(mutex_);
  seat(rank).left = true;
  end_if_stuck();
}

void Meeting::end_if_stuck() const {
  const auto waits = [](const Seat& at) { return at.send.open || at.receive.open; };
  const auto may_come = [&](const Seat& at) { return !waits(at) && !at.left; };
  if (failed_ || std::ranges::none_of(seats_, waits) || std::ranges::any_of(seats_, may_come))
    return;
  std::string who;
  for (int rank = 0; rank < world_size_; ++rank) {
    const Seat& at = seat(rank);
    std::string does = waits(at) ? "" : "has returned";
    if (at.send.open) {
      does = fmt::format("waits in send to rank {} (its {} message)", at.send.peer,
                         ordinal(at.send.number));
    }
    if (at.receive.open) {
      does += fmt::format("{} receive from rank {} (its {})", does.empty() ? "waits in" : " and in",
                          at.receive.peer, ordinal(at.receive.number));
    }
    who += fmt::format("{}rank {} {}", rank > 0 ? "; " : "", rank, does);
  }
  end_because_ranks_wait(fmt::format("{}: {}", collective_, who));
}

Shard ThreadRing::shard(int rank) const {
  if (rank < 0 || rank >= world_size_) {
    throw std::invalid_argument(
        fmt::format("rank {}: shard({}), but the ranks are 0 to {}", rank_, rank, world_size_ - 1));
  }
  const auto K = static_cast<std::size_t>(world_size_);
  const std::size_t size = (elements_ + K - 1) / K;
  const std::size_t begin = std::min(elements_, static_cast<std::size_t>(rank) * size);
  return {begin, std::min(size, elements_ - begin)};
}

void ThreadRing::exchange(int to, std::span<const float> out, int from, std::span<float> in) {
  if (overlap(out, in)) {
    throw std::invalid_argument(
        fmt::format("rank {}: in exchange, what leaves and what arrives overlap in memory", rank_));
  }
  meeting_.post(rank_, &to, out, &from, in);
}

}  // namespace zero::exercise::child
