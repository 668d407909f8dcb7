// FORMAT.md's table "what a cell holds", carried out element by element, for tests.
#pragma once

#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "common/trace/reader.h"

namespace zero {

// What one element of one buffer holds: from whom, and the value where the rules give it.
struct Cell {
  std::uint64_t ranks = 0;  // bit r: rank r contributed
  double value = std::numeric_limits<double>::quiet_NaN();
};

// Replays a run to its end. With `powers` a rank's local gradient is 2^rank everywhere; of other
// writes the value is not known, and not checked. Throws std::logic_error
// where a traced value differs from what the rules say, or a message is never sent.
class NaiveReplay {
 public:
  explicit NaiveReplay(const RunTrace& run, bool powers = true)
      : run_(run), powers_(powers), next_(run.ranks.size()) {
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::size_t r = 0; r < run.ranks.size(); ++r) {
        while (next_[r] < run.ranks[r].events.size() && apply(r)) {
          ++next_[r];
          progress = true;
        }
      }
    }
    for (std::size_t r = 0; r < run.ranks.size(); ++r) {
      if (next_[r] < run.ranks[r].events.size()) {
        throw std::logic_error(where(r) + ": a message that nobody sent");
      }
    }
    for (const auto& [key, cells] : buffers_) last_[{key.first, names_.at(key)}] = cells;
  }

  // What a buffer held when it was freed, or at the end of the trace.
  const std::vector<Cell>& last(std::size_t rank, const std::string& name) const {
    return last_.at({rank, name});
  }

  std::int64_t values_checked = 0;
  std::int64_t sums_checked = 0;  // of 2^rank: the value is the set of ranks

 private:
  using Cells = std::vector<Cell>;
  using Key = std::tuple<std::int64_t, int, std::int64_t, int, int>;

  std::string where(std::size_t r) const {
    return run_.ranks[r].path + ":" + std::to_string(run_.ranks[r].events[next_[r]].line);
  }

  Cells take(std::size_t r, event::Place place, std::int64_t size) const {
    const Cells& all = buffers_.at({r, place.buffer});
    return {all.begin() + place.at, all.begin() + place.at + size};
  }
  void put(std::size_t r, event::Place place, const Cells& cells,
           const std::vector<double>& values) {
    Cells& all = buffers_.at({r, place.buffer});
    for (std::size_t i = 0; i < cells.size(); ++i) {
      all.at(static_cast<std::size_t>(place.at) + i) = cells[i];
    }
    check(r, cells, values);
  }
  void check(std::size_t r, const Cells& cells, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double expected = cells.at(i).value;
      if (std::isnan(expected)) continue;
      // Traces write the shortest number that is the same float.
      if (static_cast<float>(values[i]) != static_cast<float>(expected)) {
        throw std::logic_error(where(r) + ": the value is " + std::to_string(values[i]) +
                               ", by the rules " + std::to_string(expected));
      }
      ++values_checked;
      if (expected == static_cast<double>(cells[i].ranks) && expected >= 3) ++sums_checked;
    }
  }
  static Cells sum(Cells a, const Cells& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = {a[i].ranks | b.at(i).ranks, a[i].value + b[i].value};
    }
    return a;
  }
  static Cells divided(Cells a, int divisor) {
    for (Cell& cell : a) {
      cell.value =
          static_cast<double>(static_cast<float>(cell.value) / static_cast<float>(divisor));
    }
    return a;
  }
  static Key key(const event::Hop& hop) {
    return {hop.collective, hop.step, hop.chunk, hop.source, hop.destination};
  }

  // False when it has to wait for a message.
  bool apply(std::size_t r) {
    const event::Any& what = run_.ranks[r].events[next_[r]].what;
    const int rank = run_.ranks[r].header.rank;
    if (const auto* allocate = std::get_if<event::Allocate>(&what)) {
      buffers_[{r, allocate->buffer}] = Cells(static_cast<std::size_t>(allocate->size));
      names_[{r, allocate->buffer}] = allocate->name;
    } else if (const auto* free = std::get_if<event::Free>(&what)) {
      const auto found = buffers_.find({r, free->buffer});
      if (found == buffers_.end()) throw std::logic_error(where(r) + ": freed twice");
      last_[{r, names_.at(found->first)}] = std::move(found->second);
      buffers_.erase(found);
    } else if (const auto* write = std::get_if<event::Write>(&what)) {
      Cell cell{std::uint64_t{1} << rank, std::numeric_limits<double>::quiet_NaN()};
      if (powers_ && write->what == "local gradient") cell.value = std::ldexp(1.0, rank);
      put(r, write->place, Cells(static_cast<std::size_t>(write->size), cell), write->values);
    } else if (const auto* send = std::get_if<event::Send>(&what)) {
      Cells message = take(r, send->from, send->hop.range.size());
      check(r, message, send->hop.values);
      mail_[key(send->hop)].push_back(std::move(message));
    } else if (const auto* receive = std::get_if<event::Receive>(&what)) {
      auto& waiting = mail_[key(receive->hop)];
      if (waiting.empty()) return false;
      Cells result = std::move(waiting.front());
      waiting.pop_front();
      if (receive->hop.effect == Effect::add) {
        result =
            sum(result, take(r, receive->own.value_or(receive->into), receive->hop.range.size()));
      }
      put(r, receive->into, divided(result, receive->divisor), receive->hop.values);
    } else if (const auto* move = std::get_if<event::Move>(&what)) {
      Cells result = take(r, move->from, move->hop.range.size());
      if (move->hop.effect == Effect::add) {
        result = sum(take(r, move->into, move->hop.range.size()), result);
      }
      put(r, move->into, divided(result, move->divisor), move->hop.values);
    }
    return true;
  }

  const RunTrace& run_;
  bool powers_;
  std::vector<std::size_t> next_;
  std::map<std::pair<std::size_t, std::int64_t>, Cells> buffers_;
  std::map<std::pair<std::size_t, std::int64_t>, std::string> names_;
  std::map<std::pair<std::size_t, std::string>, Cells> last_;
  std::map<Key, std::deque<Cells>> mail_;
};

}  // namespace zero
