// The list in shared blocks, against the standard library's vector.
#include <algorithm>
#include <random>
#include <vector>

#include "catch.h"
#include "visualizer/replay/shared_list.h"

namespace zero::replay {
namespace {

std::vector<int> vector_of(const SharedList<int>& list) { return {list.begin(), list.end()}; }

SharedList<int>::Iterator at(const SharedList<int>& list, std::size_t index) {
  return std::next(list.begin(), static_cast<std::ptrdiff_t>(index));
}

TEST_CASE("a shared list is a vector, and what copies share they do not change for each other") {
  std::mt19937 random(3);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 40; ++round) {
    SharedList<int> list;
    std::vector<int> plain;
    std::vector<std::pair<SharedList<int>, std::vector<int>>> copies;
    for (int i = 0; i < 200; ++i) {
      // Short and long pieces, so that blocks are split, joined and dropped.
      const std::size_t first = below(plain.size() + 1);
      const std::size_t count =
          std::min(below(4) == 0 ? below(400) : below(3), plain.size() - first);
      std::vector<int> fresh(below(4) == 0 ? below(500) : below(3));
      for (int& value : fresh) value = static_cast<int>(random());
      list.replace(at(list, first), at(list, first + count), fresh);
      const auto begin = plain.begin() + static_cast<std::ptrdiff_t>(first);
      plain.insert(plain.erase(begin, begin + static_cast<std::ptrdiff_t>(count)), fresh.begin(),
                   fresh.end());
      if (!plain.empty()) {
        const std::size_t changed = below(plain.size());
        list.change(at(list, changed)) = plain[changed] = i;
      }
      REQUIRE(list.size() == plain.size());
      REQUIRE(list.empty() == plain.empty());
      if (i % 10 == 0) copies.emplace_back(list, plain);
    }
    REQUIRE(vector_of(list) == plain);
    std::vector<int> backward;
    for (auto value = list.end(); value != list.begin();) backward.push_back(*--value);
    REQUIRE(backward == std::vector<int>(plain.rbegin(), plain.rend()));
    for (const auto& [copy, expected] : copies) REQUIRE(vector_of(copy) == expected);
    REQUIRE((list == copies.back().first) == (plain == copies.back().second));
    REQUIRE(SharedList<int>(list) == list);
  }
}

TEST_CASE("in a sorted shared list the first element that is not before another is found") {
  SharedList<int> list;
  const auto first_not_below = [&](int value) {
    return list.first_not([value](int other) { return other < value; });
  };
  CHECK(first_not_below(0) == list.end());
  std::mt19937 random(4);
  std::vector<int> values;
  for (int i = 0; i < 3000; ++i) values.push_back(2 * i);
  std::shuffle(values.begin(), values.end(), random);
  for (const int value : values) list.insert(first_not_below(value), value);
  REQUIRE(list.size() == 3000);
  for (int value = 0; value < 5998; ++value) {
    REQUIRE(*first_not_below(value) == (value + 1) / 2 * 2);
  }
  CHECK(first_not_below(5999) == list.end());
  CHECK(list.front() == 0);
  CHECK(list.back() == 5998);
  std::shuffle(values.begin(), values.end(), random);
  for (const int value : values) list.erase(first_not_below(value));
  CHECK(list.empty());
  CHECK(list.begin() == list.end());
  list.push_back(7);
  CHECK(vector_of(list) == std::vector<int>{7});
}

}  // namespace
}  // namespace zero::replay
