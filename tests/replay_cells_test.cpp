// Interval maps and sets of ranks, against plain arrays.
#include <random>
#include <set>

#include "catch.h"
#include "visualizer/replay/cells.h"

namespace zero::replay {
namespace {

TEST_CASE("a set of ranks is that of the standard library, below and above 64 ranks") {
  std::mt19937 random(7);
  for (const int most : {5, 63, 64, 65, 200, 1024}) {
    for (int round = 0; round < 50; ++round) {
      std::set<int> a, b;
      RankSet ours_a, ours_b;
      for (int i = static_cast<int>(random() % 6); i > 0; --i) {
        const int rank = static_cast<int>(random() % static_cast<unsigned>(most));
        a.insert(rank);
        ours_a.insert(rank);
      }
      for (int i = static_cast<int>(random() % 6); i > 0; --i) {
        const int rank = static_cast<int>(random() % static_cast<unsigned>(most));
        b.insert(rank);
        ours_b |= RankSet(rank);
      }
      bool meet = false;
      for (const int rank : a) meet |= b.count(rank) > 0;
      REQUIRE(ours_a.intersects(ours_b) == meet);
      REQUIRE((ours_a == ours_b) == (a == b));
      REQUIRE(ours_a.lowest() == (a.empty() ? -1 : *a.begin()));
      const RankSet before = ours_a;
      ours_a |= ours_b;
      std::set<int> both = a;
      both.insert(b.begin(), b.end());
      REQUIRE(ours_a.size() == static_cast<int>(both.size()));
      REQUIRE(ours_a.empty() == both.empty());
      for (int rank = -1; rank < most + 70; ++rank) {
        REQUIRE(ours_a.contains(rank) == (both.count(rank) > 0));
        REQUIRE(before.contains(rank) == (a.count(rank) > 0));  // copies do not change
      }
    }
  }
}

TEST_CASE("cells are what an array of elements would be, after any slices and pastes") {
  std::mt19937 random(3);
  for (const std::int64_t size : {1, 2, 7, 40}) {
    Cells cells(size, 5);
    std::vector<std::size_t> plain(static_cast<std::size_t>(size), 5);  // the event of each element
    for (std::size_t event = 6; event < 400; ++event) {
      const auto at = static_cast<std::int64_t>(random() % static_cast<unsigned>(size));
      const auto count = static_cast<std::int64_t>(random() % static_cast<unsigned>(size - at + 1));
      REQUIRE(cells.holds(at, count));
      std::vector<Cell> pieces;
      if (random() % 2 == 0) {
        pieces = cells.slice(static_cast<std::int64_t>(random()) % (size - count + 1), count);
      }
      if (pieces.empty() && count > 0) pieces.push_back({0, count, {}, event});
      cells.paste(at, pieces);
      for (const Cell& piece : pieces) {
        for (std::int64_t i = piece.begin; i < piece.end; ++i) {
          plain[static_cast<std::size_t>(at + i)] = piece.event;
        }
      }
      std::int64_t end = 0;
      for (const Cell& cell : cells.all()) {
        REQUIRE(cell.begin == end);
        REQUIRE(cell.end > cell.begin);
        end = cell.end;
        for (std::int64_t i = cell.begin; i < cell.end; ++i) {
          REQUIRE(cell.event == plain[static_cast<std::size_t>(i)]);
          REQUIRE(cells.at(i) == cell);
        }
      }
      REQUIRE(end == size);
    }
  }
}

TEST_CASE("what a buffer holds ends at its ends, whatever the numbers") {
  const Cells cells(10, 0);
  CHECK(cells.holds(0, 10));
  CHECK(cells.holds(10, 0));
  CHECK_FALSE(cells.holds(0, 11));
  CHECK_FALSE(cells.holds(-1, 2));
  CHECK_FALSE(cells.holds(2, -1));
  CHECK_FALSE(cells.holds(INT64_MAX, INT64_MAX));
  CHECK(Cells(0, 0).all().empty());
  CHECK(Cells(0, 0).holds(0, 0));
  CHECK(Cells(0, 0).slice(0, 0).empty());
}

}  // namespace
}  // namespace zero::replay
