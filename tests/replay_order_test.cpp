// One order of all ranks' events, and moving about in it.
#include <algorithm>
#include <sstream>

#include "catch.h"
#include "tests/replay_runs.h"
#include "tests/small_run.h"
#include "visualizer/replay/player.h"

namespace zero::replay {
namespace {

using nlohmann::json;

// Each rank's events in its own order, each once; every receive after its send; time goes forward.
void check_order(const Run& run) {
  std::vector<std::size_t> next(static_cast<std::size_t>(run.world_size()), 0);
  std::size_t messages = 0;
  for (EventIndex e = 0; e < run.size(); ++e) {
    REQUIRE(run.own_index(e) == next[static_cast<std::size_t>(run.rank_of(e))]++);
    REQUIRE(run.index_of(run.rank_of(e), run.own_index(e)) == e);
    if (e > 0) REQUIRE(run.time(e) >= run.time(e - 1));
    const auto partner = run.partner(e);
    if (!partner) continue;
    REQUIRE(run.partner(*partner) == e);
    const bool is_receive = std::holds_alternative<event::Receive>(run.event(e).what);
    const bool partner_sends = std::holds_alternative<event::Send>(run.event(*partner).what);
    REQUIRE(is_receive == partner_sends);
    REQUIRE(is_receive == (*partner < e));
    messages += is_receive;
  }
  for (int r = 0; r < run.world_size(); ++r) {
    REQUIRE(next[static_cast<std::size_t>(r)] == run.rank(r).events.size());
  }
  CHECK((messages > 0) == (run.world_size() > 1));
}

TEST_CASE("both orders keep each rank's own and put every receive after its send") {
  for (const int K : {1, 3, 5}) {
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
      const TemporaryFolder folder;
      run_collectives(folder.path(), algorithm, K, 6 * K + 1);
      // Clocks that have nothing to do with each other.
      change_lines(folder.path(), [&](json& line) {
        static int rank = 0;
        if (line["e"] == "header") rank = line["rank"];
        else
          line["t"] = line["t"].get<std::int64_t>() + (rank * 7 % 4) * std::int64_t{1'000'000'000};
      });
      for (const Order order : {Order::logical, Order::measured}) {
        const auto run = Run::open(folder.path(), order);
        check_order(*run);
        const auto again = run->in_order(Order::logical)->in_order(order);
        for (EventIndex e = 0; e < run->size(); ++e) {
          REQUIRE(again->rank_of(e) == run->rank_of(e));
          REQUIRE(again->own_index(e) == run->own_index(e));
        }
      }
    }
  }
}

TEST_CASE("measured time sets the clocks against each other by no more than messages need") {
  const TemporaryFolder folder;
  run_collectives(folder.path(), Algorithm::ring, 3, 19);
  const auto before = Run::open(folder.path(), Order::measured);
  for (EventIndex e = 0; e < before->size(); ++e) {
    // Clocks of one process, opened within a second or so of each other, that a message corrects.
    CHECK(before->time(e) >= before->event(e).t);
  }
  const std::int64_t hour = 3'600'000'000'000;
  change_lines(folder.path(), [&](json& line) {
    static int rank = 0;
    if (line["e"] == "header") rank = line["rank"];
    else if (rank == 1) line["t"] = line["t"].get<std::int64_t>() + hour;
  });
  const auto after = Run::open(folder.path(), Order::measured);
  // An hour on one clock is not an hour on the others: the run still takes its few milliseconds.
  CHECK(after->time(after->size() - 1) - after->time(0) < hour / 2);
  CHECK(after->time(0) > hour / 2);
}

TEST_CASE("all ranks begin a step together, when all have done all of the step before it") {
  for (const int K : {1, 3, 5}) {
    const TemporaryFolder folder;
    run_collectives(folder.path(), Algorithm::direct, K, 6 * K + 1);
    const auto run = Run::open(folder.path());
    REQUIRE(run->chapters().size() == 5);
    for (std::size_t c = 0; c < 5; ++c) {
      const Chapter& chapter = run->chapters()[c];
      CHECK(chapter.number == static_cast<int>(c));
      CHECK(chapter.end == (c == 4 ? run->size() : run->chapters()[c + 1].begin));
      const World world = run->at(chapter.all_in);
      for (const RankState& state : world.ranks) {
        CHECK(std::get<event::Step>(run->event(*state.step).what).number == chapter.number);
      }
      CHECK(chapter.all_in == chapter.begin + static_cast<std::size_t>(K) - 1);
    }
  }
}

TEST_CASE("messages that are received before they are sent are told of, and played without") {
  const TemporaryFolder folder;
  SmallRun(folder.path(), {.world_size = 3, .iterations = 1});
  // All sends of every rank come last.
  for (int r = 0; r < 3; ++r) {
    const std::string path = folder / ("rank" + std::to_string(r) + ".jsonl");
    std::istringstream lines(read_whole_file(path));
    std::string first, last;
    for (std::string line; std::getline(lines, line);) {
      json object = json::parse(line);
      if (object["e"] != "header") object["t"] = 5;
      if (object["e"] == "end") continue;
      std::string& half = object["e"] == "send" ? last : first;
      half += object.dump();
      half += '\n';
    }
    write_whole_file(path, first + last);
  }
  for (const Order order : {Order::logical, Order::measured}) {
    const auto run = Run::open(folder.path(), order);
    const auto told = std::count_if(run->notes().begin(), run->notes().end(), [](auto& note) {
      return note.find("received before it is sent") != std::string::npos;
    });
    CHECK(told > 0);
    CHECK(run->at(run->size()).position == run->size());
  }
}

TEST_CASE("a player goes to events and steps, forward and backward, and stays within the run") {
  const TemporaryFolder folder;
  SmallRun(folder.path(), {.world_size = 3, .iterations = 2});
  const auto run = Run::open(folder.path());
  Player player(run);
  std::vector<World> played = {player.world()};
  while (player.position() < run->size()) {
    player.next_event();
    played.push_back(player.world());
  }
  REQUIRE(played.size() == run->size() + 1);
  player.next_event();
  CHECK(player.position() == run->size());
  for (std::size_t p = run->size(); p-- > 0;) {
    player.previous_event();
    REQUIRE(player.world() == played[p]);
  }
  player.previous_event();
  CHECK(player.position() == 0);

  std::vector<std::size_t> begins;
  for (const Chapter& chapter : run->chapters()) begins.push_back(chapter.begin);
  REQUIRE(begins.size() > 8);
  for (const std::size_t begin : begins) {
    player.next_step();
    CHECK(player.position() == begin);
  }
  player.next_step();
  CHECK(player.position() == begins.back());
  player.seek(begins.back() + 3);
  for (auto begin = begins.rbegin(); begin != begins.rend(); ++begin) {
    player.previous_step();
    CHECK(player.position() == *begin);
  }
  player.previous_step();
  CHECK(player.position() == 0);

  // The events of one rank only.
  for (std::size_t i = 0; i < run->rank(1).events.size(); ++i) {
    player.next_event(1);
    CHECK(player.position() == run->index_of(1, i) + 1);
  }
  for (std::size_t i = run->rank(1).events.size(); i-- > 0;) {
    player.previous_event(1);
    CHECK(player.position() == run->index_of(1, i));
  }
}

}  // namespace
}  // namespace zero::replay
