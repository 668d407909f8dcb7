// What the elements of a buffer hold, and from which ranks it comes: an interval map.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "visualizer/replay/shared_list.h"

namespace zero::replay {

// A set of ranks.
class RankSet {
 public:
  RankSet() = default;
  explicit RankSet(int rank) { insert(rank); }

  void insert(int rank);
  bool contains(int rank) const;
  int size() const;
  bool empty() const { return first_ == 0 && !more_; }
  int lowest() const;  // -1 when empty
  bool intersects(const RankSet& other) const;
  RankSet& operator|=(const RankSet& other);
  bool operator==(const RankSet& other) const;

 private:
  // Copies are many, and nearly always of few ranks: bits of the ranks 0 to 63, then, shared and
  // never changed, those of the others (its last word is not 0; null when there is none).
  std::uint64_t first_ = 0;
  std::shared_ptr<const std::vector<std::uint64_t>> more_;
};

// What an element holds, by FORMAT.md's rules alone.
enum class Kind : std::uint8_t {
  nothing,         // allocated, not written yet
  initial,         // the weights at the start
  zero,            //
  local_gradient,  // of one rank's micro-batch
  partial_sum,     // of some ranks, or of all and not divided yet
  reduced,         // the average of all ranks
  updated,         // by the optimizer
  cast,            // from another type
  copied,          // from another buffer of this rank
  gathered,        // a copy of what its owner, the one contributor, has
  unknown          // it came in a message that no trace tells of
};
inline constexpr int kKinds = 11;
std::string_view to_string(Kind kind);  // "local gradient"

struct Content {
  Kind kind = Kind::nothing;
  bool divided = false;   // the sum has been divided by the number of ranks
  bool repeated = false;  // some rank's values are in this sum more than once: a mistake
  RankSet contributors;   // of a write: the rank that wrote

  bool operator==(const Content&) const = default;
};

// Neighbouring elements that one event gave the same content.
struct Cell {
  std::int64_t begin = 0, end = 0;  // elements of the buffer
  Content content;
  std::size_t event = 0;  // that wrote it: an index into the run's order

  std::int64_t size() const { return end - begin; }
  bool operator==(const Cell&) const = default;
};

// All elements of one buffer: cells in order, without gaps.
class Cells {
 public:
  // Nothing, since `event`.
  Cells(std::int64_t size, std::size_t event);

  const SharedList<Cell>& all() const { return cells_; }
  std::int64_t size() const { return size_; }  // elements
  // Whether [at, at + size) lies within.
  bool holds(std::int64_t at, std::int64_t size) const;

  const Cell& at(std::int64_t element) const;  // requires holds(element, 1)
  // The cells of [at, at + size), cut at its ends and counted from `at`. Requires holds(at, size).
  std::vector<Cell> slice(std::int64_t at, std::int64_t size) const {
    return *slice(at, size, SIZE_MAX);
  }
  // The same; nothing when there are more than `most`.
  std::optional<std::vector<Cell>> slice(std::int64_t at, std::int64_t size,
                                         std::size_t most) const;
  // Puts `pieces`, a slice, at `at` on. Requires that they fit.
  void paste(std::int64_t at, const std::vector<Cell>& pieces);

  bool operator==(const Cells&) const = default;

 private:
  SharedList<Cell>::Iterator cell_of(std::int64_t element) const;

  std::int64_t size_;
  SharedList<Cell> cells_;
};

}  // namespace zero::replay
