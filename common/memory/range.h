// A half-open range of positions in the flat parameter vector.
#pragma once

#include <algorithm>
#include <cstdint>

namespace zero {

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }  // elements
  bool empty() const { return begin == end; }
  bool contains(Range other) const {
    return other.empty() || (begin <= other.begin && other.end <= end);
  }
  // The common part; empty when there is none.
  Range intersect(Range other) const {
    const std::int64_t from = std::max(begin, other.begin);
    return {from, std::max(from, std::min(end, other.end))};
  }
  bool operator==(const Range&) const = default;
};

}  // namespace zero
