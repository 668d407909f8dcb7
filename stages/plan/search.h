// The largest number that fits, and the smallest: few trials, each of which is a run.
#pragma once

#include <cstdint>
#include <functional>

namespace zero {

struct Found {
  std::int64_t number = 0;  // 0: none
  // The next number is no longer too much for a GPU's memory, but more than the programs take.
  bool at_limit = false;
};

enum class Answer { yes, no, beyond };  // beyond: cannot be tried; so are all larger numbers

// The largest n >= 1 for which `fits` says yes. Requires that it says yes up to some n, and never
// after it. Tries doubled numbers from `first` on, then halves what is left.
Found largest(std::int64_t first, const std::function<Answer(std::int64_t)>& fits);

// The smallest n > `after` for which `fits` says yes; requires that it says no up to some n, then
// yes. 0: none up to the first n that is beyond, or that is larger than `most`.
std::int64_t smallest(std::int64_t after, std::int64_t most,
                      const std::function<Answer(std::int64_t)>& fits);

}  // namespace zero
