// Doubling until it is too much, then halving the distance.
#include "stages/plan/search.h"

#include <algorithm>

namespace zero {

Found largest(std::int64_t first, const std::function<Answer(std::int64_t)>& fits) {
  std::int64_t good = 0, bad = std::max<std::int64_t>(first, 1);
  Answer answer = fits(bad);
  while (answer == Answer::yes) {
    good = bad;
    bad *= 2;
    answer = fits(bad);
  }
  bool at_limit = answer == Answer::beyond;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    answer = fits(middle);
    if (answer == Answer::yes) {
      good = middle;
    } else {
      bad = middle;
      at_limit = answer == Answer::beyond;
    }
  }
  return {good, at_limit};
}

std::int64_t smallest(std::int64_t after, std::int64_t most,
                      const std::function<Answer(std::int64_t)>& fits) {
  std::int64_t bad = after, good = after;
  while (true) {
    if (good == most) return 0;
    good = std::min(std::max<std::int64_t>(good * 2, after + 1), most);
    const Answer answer = fits(good);
    if (answer == Answer::yes) break;
    if (answer == Answer::beyond) return 0;
    bad = good;
  }
  while (good - bad > 1) {
    const std::int64_t middle = bad + (good - bad) / 2;
    if (fits(middle) == Answer::yes) {
      good = middle;
    } else {
      bad = middle;
    }
  }
  return good;
}

}  // namespace zero
