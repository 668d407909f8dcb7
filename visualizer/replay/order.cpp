// Matches messages by their keys, then gives each event a time that is later than what it needs.
#include "visualizer/replay/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <optional>

namespace zero::replay {
namespace {

constexpr std::int64_t kLatest = std::int64_t{1} << 60;  // of an offset: beyond any clock
constexpr std::size_t kMostNotes = 20;

// A send or a receive; in this order the n-th of a key follows the one before it.
struct Keyed {
  std::int64_t collective = 0;
  int step = 0;
  std::int64_t chunk = 0;
  int source = 0, destination = 0;
  std::uint32_t index = 0;  // on its rank

  static Keyed of(const event::Hop& hop, std::size_t index) {
    return {hop.collective, hop.step,        hop.chunk,
            hop.source,     hop.destination, static_cast<std::uint32_t>(index)};
  }
  std::strong_ordering key_order(const Keyed& other) const {
    if (const auto c = collective <=> other.collective; c != 0) return c;
    if (const auto c = step <=> other.step; c != 0) return c;
    if (const auto c = chunk <=> other.chunk; c != 0) return c;
    if (const auto c = source <=> other.source; c != 0) return c;
    return destination <=> other.destination;
  }
  bool operator<(const Keyed& other) const {
    const auto order = key_order(other);
    return order != 0 ? order < 0 : index < other.index;
  }
};

class Ordering {
 public:
  explicit Ordering(const RunLog& log) : log_(log), sends_(log.ranks.size()) {
    for (std::size_t r = 0; r < log.ranks.size(); ++r) {
      sends_[r].resize(log.ranks[r].events.size(), Ordered::kNone);
      times_.emplace_back(log.ranks[r].events.size());
    }
    match();
  }

  Ordered in(Order order) {
    if (order == Order::measured && !one_clock()) set_clocks();
    set_times(order);
    return sorted();
  }

 private:
  // Simulated ranks share one clock; those that have none tell nothing of theirs.
  bool one_clock() {
    offsets_.assign(log_.ranks.size(), 0);
    return std::all_of(log_.ranks.begin(), log_.ranks.end(), [](const RankLog& rank) {
      return rank.path.empty() || rank.header.clock == "simulated";
    });
  }

  void match() {
    std::vector<Keyed> sends, receives;
    for (const RankLog& rank : log_.ranks) {
      for (std::size_t i = 0; i < rank.events.size(); ++i) {
        const event::Any& what = rank.events[i].what;
        if (const auto* send = std::get_if<event::Send>(&what)) {
          sends.push_back(Keyed::of(send->hop, i));
        } else if (const auto* receive = std::get_if<event::Receive>(&what)) {
          receives.push_back(Keyed::of(receive->hop, i));
        }
      }
    }
    std::sort(sends.begin(), sends.end());
    std::sort(receives.begin(), receives.end());
    auto send = sends.begin();
    auto receive = receives.begin();
    while (send != sends.end() && receive != receives.end()) {
      const auto order = send->key_order(*receive);
      if (order == 0) {
        sends_[static_cast<std::size_t>(receive->destination)][receive->index] = send->index;
      }
      if (order <= 0) ++send;
      if (order >= 0) ++receive;
    }
  }

  std::size_t source(std::size_t rank, std::size_t i) const {
    return static_cast<std::size_t>(
        std::get<event::Receive>(log_.ranks[rank].events[i].what).hop.source);
  }

  // Offsets between the clocks: as small as the messages allow, since each receive is later than
  // its send (relaxation, as Bellman and Ford do it). Clocks that drift apart keep a rest.
  void set_clocks() {
    const std::size_t K = log_.ranks.size();
    std::vector<std::vector<std::optional<std::int64_t>>> least(K);  // [b][a]: of b's over a's
    for (std::size_t b = 0; b < K; ++b) {
      for (std::size_t i = 0; i < sends_[b].size(); ++i) {
        if (sends_[b][i] == Ordered::kNone) continue;
        const std::size_t a = source(b, i);
        const std::int64_t ahead = log_.ranks[a].events[sends_[b][i]].t - log_.ranks[b].events[i].t;
        if (least[b].empty()) least[b].resize(K);
        least[b][a] = std::max(least[b][a].value_or(ahead), ahead);
      }
    }
    offsets_.assign(K, 0);
    constexpr int kMostRounds = 32;
    bool changed = true;
    for (int round = 0; changed && round < kMostRounds; ++round) {
      changed = false;
      for (std::size_t b = 0; b < K; ++b) {
        for (std::size_t a = 0; a < least[b].size(); ++a) {
          if (!least[b][a] || offsets_[b] >= offsets_[a] + *least[b][a]) continue;
          offsets_[b] = std::min(kLatest, offsets_[a] + *least[b][a]);
          changed = true;
        }
      }
    }
    const std::int64_t first = K == 0 ? 0 : *std::min_element(offsets_.begin(), offsets_.end());
    for (std::int64_t& offset : offsets_) offset -= first;
  }

  void set_times(Order order) {
    const std::size_t K = log_.ranks.size();
    std::vector<std::size_t> next(K, 0);
    if (order == Order::logical) count_steps();
    while (true) {
      bool progress = false, waits = false;
      for (std::size_t r = 0; r < K; ++r) {
        for (; next[r] < times_[r].size(); ++next[r], progress = true) {
          const std::uint32_t send = sends_[r][next[r]];
          const std::size_t from = send == Ordered::kNone ? r : source(r, next[r]);
          std::int64_t before = next[r] == 0 ? -1 : times_[r][next[r] - 1];
          const bool step = order == Order::logical &&
                            std::holds_alternative<event::Step>(log_.ranks[r].events[next[r]].what);
          if ((send != Ordered::kNone && send >= next[from]) || (step && !all_here(r, before))) {
            waits = true;
            break;
          }
          if (step) before = steps_[passed_[r]++].last;
          const std::int64_t sent = send == Ordered::kNone ? -1 : times_[from][send];
          times_[r][next[r]] =
              order == Order::logical
                  ? 1 + std::max(before, sent)
                  : std::max({log_.ranks[r].events[next[r]].t + offsets_[r], before, sent + 1});
        }
      }
      if (!waits) return;
      if (progress) continue;
      if (together_) together_ = false;  // not one program's steps: each rank at its own pace
      else break_circle(next);
    }
  }

  // ---- steps: where the ranks wait for each other in logical time ----

  struct StepBegins {
    std::size_t expected = 0;  // ranks that have this step in their trace
    std::size_t arrived = 0;   // of them, those that have done all before it
    std::int64_t last = -1;    // the time of the last event that one of them did before it
  };

  void count_steps() {
    passed_.assign(log_.ranks.size(), 0);
    arrived_.assign(log_.ranks.size(), 0);
    for (const RankLog& rank : log_.ranks) {
      std::size_t n = 0;
      for (std::size_t i = 0; i < rank.events.size(); ++i) {
        if (!std::holds_alternative<event::Step>(rank.events[i].what)) continue;
        if (n == steps_.size()) steps_.emplace_back();
        ++steps_[n++].expected;
      }
    }
  }

  // Rank r has come to its next step: whether all others have, too.
  bool all_here(std::size_t r, std::int64_t before) {
    StepBegins& step = steps_[passed_[r]];
    if (arrived_[r] == passed_[r]) {
      ++arrived_[r];
      ++step.arrived;
      step.last = std::max(step.last, before);
    }
    return !together_ || step.arrived == step.expected;
  }

  // All ranks that are left wait for messages of each other: the first does without.
  void break_circle(const std::vector<std::size_t>& next) {
    std::size_t r = 0;
    while (next[r] == times_[r].size()) ++r;
    sends_[r][next[r]] = Ordered::kNone;
    if (notes_.size() == kMostNotes) return;
    notes_.push_back(fmt::format("{}:{}: this message is received before it is sent",
                                 log_.ranks[r].path, log_.ranks[r].events[next[r]].line));
  }

  Ordered sorted() {
    Ordered result;
    for (std::size_t r = 0; r < times_.size(); ++r) {
      for (std::size_t i = 0; i < times_[r].size(); ++i) {
        result.events.push_back({static_cast<int>(r), static_cast<std::uint32_t>(i), times_[r][i]});
      }
      result.index.emplace_back(times_[r].size());
    }
    std::sort(result.events.begin(), result.events.end(), [](const Placed& a, const Placed& b) {
      if (a.time != b.time) return a.time < b.time;
      return a.rank != b.rank ? a.rank < b.rank : a.index < b.index;
    });
    for (std::size_t e = 0; e < result.events.size(); ++e) {
      const Placed& placed = result.events[e];
      result.index[static_cast<std::size_t>(placed.rank)][placed.index] =
          static_cast<std::uint32_t>(e);
    }
    result.partner.assign(result.events.size(), Ordered::kNone);
    for (std::size_t r = 0; r < sends_.size(); ++r) {
      for (std::size_t i = 0; i < sends_[r].size(); ++i) {
        if (sends_[r][i] == Ordered::kNone) continue;
        const std::uint32_t receive = result.index[r][i];
        const std::uint32_t send = result.index[source(r, i)][sends_[r][i]];
        result.partner[receive] = send;
        result.partner[send] = receive;
      }
    }
    result.notes = std::move(notes_);
    return result;
  }

  const RunLog& log_;
  std::vector<std::vector<std::uint32_t>> sends_;  // by rank and own index, of receives: its send
  std::vector<std::vector<std::int64_t>> times_;   // by rank and own index
  std::vector<std::int64_t> offsets_;              // by rank: of its clock
  std::vector<StepBegins> steps_;                  // the n-th step of each rank
  std::vector<std::size_t> passed_, arrived_;      // by rank: steps begun, steps come to
  bool together_ = true;
  std::vector<std::string> notes_;
};

}  // namespace

Ordered put_in_order(const RunLog& log, Order order) { return Ordering(log).in(order); }

}  // namespace zero::replay
