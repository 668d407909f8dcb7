// The largest number that fits, and the smallest that is enough: few trials, each of which is a
// run.
#pragma once

#include <cstdint>
#include <functional>

namespace zero {

using Question = std::function<bool(std::int64_t)>;

struct Found {
  std::int64_t number = 0;  // 0: none
  bool at_limit = false;    // it fits, and larger numbers cannot be tried
};

// The largest n >= 1 that `fits`. Requires that all numbers up to some n do, and none after it; and
// the same of `can_be_tried`, without which `fits` is not asked. Tries doubled numbers from `first`
// on, then halves what is left.
Found largest(std::int64_t first, const Question& can_be_tried, const Question& fits);

// The smallest n > `after` that is `enough`, 0 if none up to `most` is. Requires that no number up
// to some n is enough, and all after it are.
std::int64_t smallest(std::int64_t after, std::int64_t most, const Question& enough);

}  // namespace zero
