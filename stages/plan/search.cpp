// Doubling until it is too much, then halving the distance.
#include "stages/plan/search.h"

#include <algorithm>

namespace zero {
namespace {

// The last number for which `yes`, which it is for `good` and not for `bad`.
std::int64_t last_between(std::int64_t good, std::int64_t bad, const Question& yes) {
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (yes(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace

Found largest(std::int64_t first, const Question& can_be_tried, const Question& fits) {
  std::int64_t good = 0, bad = std::max<std::int64_t>(first, 1);
  bool tried = can_be_tried(bad);
  while (tried && fits(bad)) {
    good = bad;
    bad *= 2;
    tried = can_be_tried(bad);
  }
  if (!tried) {
    const std::int64_t limit = last_between(good, bad, can_be_tried);
    if (limit == good || fits(limit)) return {limit, limit > 0};
    bad = limit;
  }
  return {last_between(good, bad, fits), false};
}

std::int64_t smallest(std::int64_t after, std::int64_t most, const Question& enough) {
  std::int64_t too_few = after, number = after;
  do {
    if (number >= most) return 0;
    too_few = number;
    number = std::min(std::max(2 * number, after + 1), most);
  } while (!enough(number));
  return last_between(too_few, number, [&](std::int64_t n) { return !enough(n); }) + 1;
}

}  // namespace zero
