// The collectives of a run: their messages, counted by closed forms, and what damaged traces leave.
#include <map>
#include <set>

#include "catch.h"
#include "tests/replay_runs.h"
#include "visualizer/replay/collectives.h"

namespace zero::replay {
namespace {

using nlohmann::json;

constexpr std::int64_t kShard = 7;  // elements, in chunks of 4 and 3
constexpr std::int64_t kChunks = 2;

std::shared_ptr<const Run> run_of(const TemporaryFolder& folder, Algorithm algorithm, int K) {
  run_collectives(folder.path(), algorithm, K, (kShard - 1) * K + 1);
  return Run::open(folder.path());
}

struct Sum {
  std::int64_t messages = 0, bytes = 0, moves = 0;
};
Sum sum_of(const Run& run, const Collective& collective) {
  Sum sum;
  for (const Hop& hop : collective.hops) {
    const auto* send = std::get_if<event::Send>(&run.event(hop.send).what);
    if (!send) {
      ++sum.moves;
      continue;
    }
    ++sum.messages;
    sum.bytes += send->bytes;
  }
  return sum;
}

TEST_CASE("the messages of every collective are as many, and as large, as its formula says") {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    for (const int K : {2, 3, 5}) {
      INFO(to_string(algorithm) << ", " << K << " ranks");
      const TemporaryFolder folder;
      const auto run = run_of(folder, algorithm, K);
      const std::vector<Collective> all = collectives_of(*run);
      REQUIRE(all.size() == static_cast<std::size_t>(3 + 2 * K));
      const bool direct = algorithm == Algorithm::direct;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const Collective& collective = all[i];
        INFO(collective.name);
        const bool whole = i < 3;
        // Each of K shards, or the one piece, crosses K - 1 times; an all_reduce is two of them.
        const std::int64_t crossings =
            (K - 1) * (whole ? K : 1) * (collective.name == "all_reduce" ? 2 : 1);
        const Sum sum = sum_of(*run, collective);
        CHECK(sum.messages == crossings * kChunks);
        CHECK(sum.bytes == crossings * kShard * 4);
        // Where the owner adds up it moves its own values into the sum, and the sum to its place;
        // where it broadcasts it moves the piece to its own buffer.
        const bool adds = collective.name == "all_reduce" || collective.name == "reduce_scatter" ||
                          collective.name == "reduce";
        const std::int64_t pieces = whole ? K : 1;
        const std::int64_t moves = adds && direct ? 2 * pieces * kChunks : 0;
        CHECK(sum.moves == moves + (collective.name == "broadcast" ? 1 : 0));

        CHECK(collective.steps == (collective.name == "all_reduce" ? 2 : 1) * (K - 1));
        CHECK(collective.algorithm == to_string(algorithm));
        CHECK_FALSE(collective.opaque);
        CHECK(collective.results.empty());
        CHECK(collective.owner.has_value() == !whole);
        if (!whole) CHECK(*collective.owner == static_cast<int>(i - 3) / 2);
        CHECK(collective.range.size() == (whole ? kShard * K : kShard));
        CHECK(collective.step_number == (whole ? static_cast<int>(i) + 1 : 4));
        CHECK(collective.parts.size() == static_cast<std::size_t>(K));
        std::size_t first = run->size(), last = 0;
        for (const Part& part : collective.parts) {
          REQUIRE(part.end);
          CHECK(part.begin < *part.end);
          first = std::min(first, part.begin + 1);
          last = std::max(last, *part.end + 1);
        }
        CHECK(collective.begin == first);
        CHECK(collective.end == last);
        for (const Hop& hop : collective.hops) {
          const event::Hop& what = *run->hop(hop.send);
          CHECK(what.collective == collective.number);
          CHECK(hop.step == what.step);
          CHECK(hop.receive == run->partner(hop.send));
          CHECK(hop.receive.has_value() == (what.source != what.destination));
        }
      }
    }
  }
}

TEST_CASE("a ring's chunk of a shard goes from rank to rank until it is with its owner") {
  for (const int K : {3, 5}) {
    const TemporaryFolder folder;
    const auto run = run_of(folder, Algorithm::ring, K);
    const Collective reduce_scatter = collectives_of(*run)[1];
    REQUIRE(reduce_scatter.name == "reduce_scatter");
    std::map<std::int64_t, std::set<int>> seen;  // by where the chunk begins: the steps
    for (const Hop& hop : reduce_scatter.hops) {
      const event::Hop& what = *run->hop(hop.send);
      CHECK(what.destination == (what.source + 1) % K);
      // At step s the sum for owner r - s leaves rank r.
      CHECK(what.range.begin / kShard == (what.source - hop.step + K) % K);
      CHECK(seen[what.range.begin].insert(hop.step).second);
    }
    CHECK(seen.size() == static_cast<std::size_t>(kChunks * K));
    for (const auto& [begin, steps] : seen) CHECK(steps.size() == static_cast<std::size_t>(K - 1));
  }
}

TEST_CASE("a rank whose trace ends within a collective has no end in it") {
  const TemporaryFolder folder;
  run_collectives(folder.path(), Algorithm::ring, 3, 19);
  // Rank 1 is killed in the reduce_scatter, after its first send.
  bool dead = false;
  int rank = -1;
  change_lines(folder.path(), [&](json& line) {
    if (line["e"] == "header") {
      dead = false;
      rank = line["rank"];
    }
    if (dead) line = nullptr;
    else if (rank == 1 && line["e"] == "send" && line["name"] == "reduce_scatter") dead = true;
  });
  const auto run = Run::open(folder.path());
  const std::vector<Collective> all = collectives_of(*run);
  const Collective& cut = all[1];
  REQUIRE(cut.parts.size() == 3);
  int ends = 0, lost = 0;
  for (const Part& part : cut.parts) {
    CHECK(part.end.has_value() == (part.rank != 1));
    ends += part.end.has_value();
  }
  CHECK(ends == 2);
  // Of what is sent to it, it receives nothing; of what it should send one message is there.
  for (const Hop& hop : cut.hops) {
    const event::Hop& what = *run->hop(hop.send);
    if (what.destination == 1) CHECK_FALSE(hop.receive);
    lost += !hop.receive;
  }
  CHECK(lost == 4);
  CHECK(sum_of(*run, cut).messages == 2 * 4 + 1);
  for (std::size_t i = 2; i < all.size(); ++i) CHECK(all[i].parts.size() == 2);
}

TEST_CASE("where no rank says that a collective ends it lasts until the traces end") {
  const TemporaryFolder folder;
  run_collectives(folder.path(), Algorithm::direct, 3, 19);
  change_lines(folder.path(), [](json& line) {
    if (line["e"] == "collective_end") line = nullptr;
  });
  const auto run = Run::open(folder.path());
  const std::vector<Collective> all = collectives_of(*run);
  REQUIRE(all.size() == 9);
  for (const Collective& collective : all) CHECK(collective.end == run->size());
  CHECK(sum_of(*run, all[1]).messages == 3 * 2 * kChunks);
}

TEST_CASE("numbers that come again, are missing, or are of no collective confuse nobody") {
  const TemporaryFolder folder;
  run_collectives(folder.path(), Algorithm::ring, 3, 19);
  SECTION("all have the same number") {
    change_lines(folder.path(), [](json& line) {
      if (line.contains("collective")) line["collective"] = 7;
    });
    const auto run = Run::open(folder.path());
    const std::vector<Collective> all = collectives_of(*run);
    REQUIRE(all.size() == 9);
    CHECK(all[1].name == "reduce_scatter");
    CHECK(all[1].parts.size() == 3);
    CHECK(sum_of(*run, all[1]).messages == 3 * 2 * kChunks);
  }
  SECTION("a message of another collective than its rank is in is left out") {
    int changed = 0;
    change_lines(folder.path(), [&](json& line) {
      if (line["e"] != "send" || line["name"] != "reduce_scatter") return;
      line["collective"] = 1'000'000'000'000;
      ++changed;
    });
    REQUIRE(changed == 3 * 2 * kChunks);
    const auto run = Run::open(folder.path());
    CHECK(sum_of(*run, collectives_of(*run)[1]).messages == 0);
  }
  SECTION("a rank that does not say that it begins has no part") {
    bool header_of_2 = false;
    change_lines(folder.path(), [&](json& line) {
      if (line["e"] == "header") header_of_2 = line["rank"] == 2;
      if (header_of_2 && line["e"] == "collective") line = nullptr;
    });
    const auto run = Run::open(folder.path());
    const std::vector<Collective> all = collectives_of(*run);
    REQUIRE(all.size() == 9);
    for (const Collective& collective : all) CHECK(collective.parts.size() == 2);
    CHECK(sum_of(*run, all[1]).messages == 2 * 2 * kChunks);
  }
}

TEST_CASE("a library's collective has results and no messages") {
  const TemporaryFolder folder;
  run_collectives(folder.path(), Algorithm::ring, 3, 19);
  // As if a library had done the reduce_scatter: the last receive of each rank becomes its result.
  change_lines(folder.path(), [&](json& line) {
    if (!line.contains("name") || line["name"] != "reduce_scatter" || !line.contains("step"))
      return;
    if (line["e"] == "receive" && line["divisor"] == 3) {
      const json parts =
          json::array({json{{"range", line["range"]}, {"from", json::array({0, 1, 2})}}});
      line = json{{"e", "library"},       {"t", line["t"]},      {"collective", line["collective"]},
                  {"name", line["name"]}, {"effect", "average"}, {"buffer", line["buffer"]},
                  {"at", line["at"]},     {"parts", parts}};
    } else {
      line = nullptr;
    }
  });
  const auto run = Run::open(folder.path());
  const std::vector<Collective> all = collectives_of(*run);
  REQUIRE(all.size() == 9);
  CHECK(all[1].opaque);
  CHECK(all[1].hops.empty());
  CHECK(all[1].results.size() == 3 * kChunks);
  CHECK_FALSE(all[0].opaque);
}

}  // namespace
}  // namespace zero::replay
