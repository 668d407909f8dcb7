// The Chrome trace: slices nest, arrows go from sends to receives, counters are the memory.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "catch.h"
#include "common/trace/chrome.h"
#include "tests/small_run.h"

namespace zero {
namespace {

using nlohmann::json;

json chrome(const RunTrace& run) {
  std::ostringstream text;
  write_chrome_trace(run, text);
  return json::parse(text.str());
}

std::int64_t nanoseconds(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

struct Slice {
  std::int64_t begin = 0, end = 0;
  std::string name;
};
using Track = std::pair<int, int>;  // process, thread

std::map<Track, std::vector<Slice>> slices_of(const json& trace) {
  std::map<Track, std::vector<Slice>> tracks;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const std::int64_t begin = nanoseconds(event["ts"]);
    tracks[{event["pid"], event["tid"]}].push_back(
        {begin, begin + nanoseconds(event["dur"]), event["name"]});
  }
  return tracks;
}

// Every pair, not only neighbours: apart, or one inside the other.
bool nest(const std::vector<Slice>& slices) {
  for (const Slice& a : slices) {
    if (a.end < a.begin) return false;
    for (const Slice& b : slices) {
      const bool apart = a.end <= b.begin || b.end <= a.begin;
      const bool a_in_b = b.begin <= a.begin && a.end <= b.end;
      const bool b_in_a = a.begin <= b.begin && b.end <= a.end;
      if (!apart && !a_in_b && !b_in_a) return false;
    }
  }
  return true;
}

int count_named(const std::vector<Slice>& slices, const std::string& start) {
  return static_cast<int>(std::count_if(slices.begin(), slices.end(), [&](const Slice& slice) {
    return slice.name.starts_with(start);
  }));
}

struct Arrow {
  std::int64_t id = 0, from = 0, to = 0;
  int from_pid = -1, to_pid = -1;
};

std::map<std::int64_t, Arrow> arrows_of(const json& trace) {
  std::map<std::int64_t, Arrow> arrows;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "s" && event["ph"] != "f") continue;
    Arrow& arrow = arrows[event["id"]];
    const bool start = event["ph"] == "s";
    int& pid = start ? arrow.from_pid : arrow.to_pid;
    REQUIRE(pid == -1);  // ids are unique
    pid = event["pid"];
    (start ? arrow.from : arrow.to) = nanoseconds(event["ts"]);
  }
  return arrows;
}

bool inside_a_slice(const std::vector<Slice>& slices, std::int64_t at, const std::string& start) {
  return std::any_of(slices.begin(), slices.end(), [&](const Slice& slice) {
    return slice.name.starts_with(start) && slice.begin <= at &&
           (at < slice.end || slice.begin == slice.end);
  });
}

RunTrace run_of(const TemporaryFolder& folder, int world_size) {
  SmallRun::Options options;
  options.world_size = world_size;
  SmallRun(folder.path(), options);
  return read_run(folder.path());
}

// Moves one rank's clock, as if it had opened its trace earlier or later.
void set_clock(RankTrace& trace, std::int64_t by) {
  for (TraceEvent& event : trace.events) event.t += by;
}

TEST_CASE("slices nest on every track, and none is lost") {
  for (const int K : {2, 3, 5}) {
    const TemporaryFolder folder;
    const json trace = chrome(run_of(folder, K));
    const auto tracks = slices_of(trace);
    CHECK(tracks.size() == static_cast<std::size_t>(3 * K));
    for (const auto& [track, slices] : tracks) {
      INFO("rank " << track.first << ", track " << track.second);
      CHECK(nest(slices));
    }
    for (int rank = 0; rank < K; ++rank) {
      const auto& steps = tracks.at({rank, 1});
      CHECK(count_named(steps, "iteration ") == 2);
      CHECK(count_named(steps, "1. Forward [embedding]") == 2);
      CHECK(steps.size() == 2 + 1 + 2 * 4);
      CHECK(tracks.at({rank, 2}).size() == 2 * 3);
      const auto& communication = tracks.at({rank, 3});
      CHECK(count_named(communication, "reduce_scatter (ring)") == 2);
      CHECK(count_named(communication, "all_gather (library)") == 4);  // and its only event
      CHECK(count_named(communication, "move") == (rank == 0 ? 6 : 0));
    }
  }
}

TEST_CASE("the check for nesting sees what does not nest") {
  CHECK(nest({{0, 9, ""}, {0, 9, ""}, {1, 3, ""}, {3, 9, ""}}));
  CHECK_FALSE(nest({{0, 9, ""}, {5, 10, ""}}));
  CHECK_FALSE(nest({{0, 9, ""}, {3, 2, ""}}));
}

TEST_CASE("an iteration holds its steps, and nested operators lie inside each other") {
  const TemporaryFolder folder;
  const auto tracks = slices_of(chrome(run_of(folder, 3)));
  for (const auto& [track, slices] : tracks) {
    for (const Slice& slice : slices) {
      const std::string outer =
          track.second == 1 && !slice.name.starts_with("iteration") && !slice.name.starts_with("0.")
              ? "iteration"
          : slice.name == "gather_rows" ? "embedding_forward"
                                        : "";
      if (outer.empty()) continue;
      CHECK(std::any_of(slices.begin(), slices.end(), [&](const Slice& other) {
        return other.name.starts_with(outer) && other.begin <= slice.begin &&
               slice.end <= other.end;
      }));
    }
  }
}

TEST_CASE("every message is an arrow from a send's slice to a receive's, never back in time") {
  for (const int K : {2, 3, 5}) {
    const TemporaryFolder folder;
    RunTrace run = run_of(folder, K);
    // Clocks that are far apart, so that unshifted arrows would point back.
    for (int r = 0; r < K; ++r) set_clock(run.ranks[static_cast<std::size_t>(r)], 1'000'000 * r);
    const json trace = chrome(run);
    const auto tracks = slices_of(trace);
    const auto arrows = arrows_of(trace);
    CHECK(arrows.size() == static_cast<std::size_t>(2 * (K - 1) * (K + 2)));
    for (const auto& [id, arrow] : arrows) {
      REQUIRE(arrow.from_pid >= 0);
      REQUIRE(arrow.to_pid >= 0);
      CHECK(arrow.from <= arrow.to);
      CHECK(arrow.from_pid != arrow.to_pid);
      CHECK(inside_a_slice(tracks.at({arrow.from_pid, 3}), arrow.from,
                           "send to " + std::to_string(arrow.to_pid)));
      CHECK(inside_a_slice(tracks.at({arrow.to_pid, 3}), arrow.to,
                           "receive from " + std::to_string(arrow.from_pid)));
    }
  }
}

TEST_CASE("ranks are shifted by the least that lets no message arrive before it was sent") {
  const TemporaryFolder folder;
  RunTrace run = run_of(folder, 3);
  const Matched matched = match_messages(run);
  for (const std::int64_t late : {0, 5'000'000, -5'000'000}) {
    RunTrace moved = run;
    set_clock(moved.ranks[1], std::max<std::int64_t>(late, 0));
    set_clock(moved.ranks[0], std::max<std::int64_t>(-late, 0));
    const Alignment alignment = align(moved, matched);
    CHECK(alignment.consistent);
    std::vector<bool> bound(3);  // by a message that arrives just when it may
    for (const auto& [send, receive] : matched.messages) {
      const std::int64_t sent =
          moved.ranks[send.rank].events[send.index].t + alignment.shift[send.rank];
      const std::int64_t received =
          moved.ranks[receive.rank].events[receive.index].t + alignment.shift[receive.rank];
      CHECK(sent < received);
      if (sent + 1 == received) bound[receive.rank] = true;
    }
    for (std::size_t r = 0; r < 3; ++r) CHECK((alignment.shift[r] == 0 || bound[r]));
  }
}

TEST_CASE("clocks that no shift makes consistent are said to be so, and arrows still go forward") {
  // Each of two ranks has received the other's message before it sent its own.
  RunTrace run;
  for (const int rank : {0, 1}) {
    RankTrace trace;
    trace.header.rank = rank;
    trace.header.world_size = 2;
    event::Send send;
    send.hop.source = rank;
    send.hop.destination = 1 - rank;
    event::Receive receive;
    receive.hop.source = 1 - rank;
    receive.hop.destination = rank;
    trace.events = {{2, 10, receive}, {3, 20, send}};
    run.ranks.push_back(trace);
  }
  const Matched matched = match_messages(run);
  REQUIRE(matched.messages.size() == 2);
  CHECK_FALSE(align(run, matched).consistent);
  const json trace = chrome(run);
  CHECK(trace["otherData"]["alignment"] == "none is consistent with every message");
  for (const auto& [id, arrow] : arrows_of(trace)) CHECK(arrow.from <= arrow.to);
}

TEST_CASE("a counter per category follows every allocation and release") {
  const TemporaryFolder folder;
  const RunTrace run = run_of(folder, 3);
  std::map<std::pair<int, std::string>, std::vector<std::int64_t>> counters;
  const json exported = chrome(run);
  for (const json& event : exported["traceEvents"]) {
    if (event["ph"] != "C") continue;
    counters[{event["pid"], event["name"]}].push_back(event["args"]["bytes"]);
  }
  CHECK(counters.size() == 3 * kMemoryCategories);
  for (const RankTrace& trace : run.ranks) {
    for (int c = 0; c < kMemoryCategories; ++c) {
      std::vector<std::int64_t> expected = {0};
      std::map<std::int64_t, std::int64_t> alive;
      for (const TraceEvent& event : trace.events) {
        const auto* allocate = std::get_if<event::Allocate>(&event.what);
        const auto* free = std::get_if<event::Free>(&event.what);
        if (allocate && allocate->category == static_cast<Memory>(c)) {
          alive[allocate->buffer] = allocate->bytes;
        } else if (!free || alive.erase(free->buffer) == 0) {
          continue;
        }
        std::int64_t sum = 0;
        for (const auto& [buffer, bytes] : alive) sum += bytes;
        expected.push_back(sum);
      }
      const std::string name = "memory: " + std::string(to_string(static_cast<Memory>(c)));
      CHECK(counters.at({trace.header.rank, name}) == expected);
    }
  }
}

TEST_CASE("ranks and tracks are named and in order") {
  const TemporaryFolder folder;
  std::map<Track, std::string> names;
  const json exported = chrome(run_of(folder, 3));
  for (const json& event : exported["traceEvents"]) {
    if (event["name"] == "process_name" || event["name"] == "thread_name") {
      names[{event["pid"], event["tid"]}] = event["args"]["name"];
    }
  }
  CHECK(names.size() == 3 * 4);
  CHECK(names.at({2, 0}) == "rank 2 (small)");
  CHECK(names.at({1, 1}) == "steps");
  CHECK(names.at({1, 2}) == "operators");
  CHECK(names.at({1, 3}) == "communication");
}

TEST_CASE("traces that end anywhere give a Chrome trace whose slices still nest") {
  const TemporaryFolder folder;
  const RunTrace whole = run_of(folder, 3);
  for (std::size_t size = 0; size < whole.ranks[1].events.size(); ++size) {
    RunTrace run = whole;
    run.ranks[1].events.resize(size);
    run.ranks[2].events.resize(std::min(run.ranks[2].events.size(), 2 * size));
    const json trace = chrome(run);
    for (const auto& [track, slices] : slices_of(trace)) REQUIRE(nest(slices));
    for (const auto& [id, arrow] : arrows_of(trace)) {
      REQUIRE(arrow.from_pid >= 0);
      REQUIRE(arrow.to_pid >= 0);
    }
  }
}

}  // namespace
}  // namespace zero
