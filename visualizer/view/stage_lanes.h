// Which bar of the stage view each buffer belongs to, in all runs alike: from their events alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "visualizer/view/session.h"

namespace zero::view {

// A bar of a panel: a place for buffers that stand for ranges of the flat parameter vector. Its
// height is its bytes an element, its width the whole vector.
struct Lane {
  Memory category = Memory::parameters;
  bool passing = false;            // not of the model states: comes and goes
  std::int64_t bytes = 0;          // an element, of the widest type that any run has there
  std::vector<std::string> names;  // by run: of the first buffer that it has there; empty: none
};

// What a rank is busy with, from one of its events on.
struct Busy {
  std::uint32_t from = 0;  // own index
  std::string_view what;   // "all_gather", "linear_forward"; empty: nothing yet
  Range range;             // positions that it is about; empty: none in particular
  std::string_view unit;   // that it belongs to, "block 2"; empty: none
  Range unit_range;        // of that unit
};

// The bars of all runs, made once. A bar is told by its category and by its place in the order of
// birth (parameters: the first; optimizer states: the first, the second, the third), and where
// names agree by them: "params" of one run and "params_shard" of another have the same bar.
class Lanes {
 public:
  explicit Lanes(const Session& session);

  const std::vector<Lane>& all() const { return lanes_; }
  // Of a buffer that was ever alive: its bar. -1: it has none, since it stands for no positions.
  int of(int run, int rank, std::int64_t buffer) const;

  int runs() const { return static_cast<int>(ranks_.size()); }
  // Those that a run has panels of: its traced ones. And all that have columns, in any run.
  const std::vector<int>& ranks(int run) const { return traced_[static_cast<std::size_t>(run)]; }
  const std::vector<int>& columns() const { return columns_; }
  std::int64_t positions() const { return positions_; }  // of the largest run; at least 1
  // Of the smallest range of positions that any buffer has: it may be too narrow to be seen.
  std::int64_t smallest() const { return smallest_; }
  // The most bytes that buffers without a bar take on any rank of any run, at once.
  std::int64_t most_loose() const { return most_loose_; }
  const Busy* work(int run, int rank, std::size_t done) const;  // null: none yet
  bool occurs(Memory category) const { return occurs_[static_cast<std::size_t>(category)]; }

 private:
  struct OfRank {
    std::unordered_map<std::int64_t, int> lane;  // by number of the buffer
    std::vector<Busy> work;
  };
  class Sorter;

  std::vector<Lane> lanes_;
  std::vector<std::vector<OfRank>> ranks_;  // by run and rank
  std::vector<std::vector<int>> traced_;    // by run
  std::vector<int> columns_;
  std::int64_t smallest_ = INT64_MAX;
  std::int64_t positions_ = 1;
  std::int64_t most_loose_ = 0;
  bool occurs_[kMemoryCategories] = {};
};

bool is_model_state(Memory category);

}  // namespace zero::view
