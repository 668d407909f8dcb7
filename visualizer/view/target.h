// What of a run a place on the screen stands for: what can be hovered, clicked and inspected.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zero::view {

struct Target {
  enum class Kind : std::uint8_t {
    none,
    rank,      // run, rank
    buffer,    // run, rank, buffer
    cell,      // run, rank, buffer, [begin, end) elements of the buffer
    transfer,  // run, rank (of the sender), event (its Send)
    chapter,   // run, event: the position where the chapter begins
    moment,    // run, rank, event: a place of the memory curve; maybe its buffer, and the
               // category there: [begin, end) of Memory, empty: none
    control    // event: which control; its own view knows
  };
  Kind kind = Kind::none;
  int run = -1;   // by its place on the command line
  int rank = -1;  //
  std::int64_t buffer = -1;
  std::int64_t begin = 0, end = 0;
  std::size_t event = 0;

  explicit operator bool() const { return kind != Kind::none; }
  bool operator==(const Target&) const = default;
};

}  // namespace zero::view
