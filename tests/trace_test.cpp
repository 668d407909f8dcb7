// The writer against FORMAT.md: every kind and key, every value, and what a trace leaves behind.
#include "common/trace/trace.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "catch.h"
#include "common/trace/match.h"
#include "common/trace/parse.h"
#include "common/trace/reader.h"
#include "tests/naive_replay.h"
#include "tests/small_run.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

using nlohmann::json;
using Keys = std::set<std::string>;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Keys keys_of(const json& object) {
  Keys keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

std::string format_page() { return read_whole_file(source_path("common/trace/FORMAT.md")); }

// The tables of FORMAT.md: "### kind", then "| key | ... |" rows.
std::map<std::string, Keys> documented_keys() {
  std::map<std::string, Keys> kinds;
  std::string kind;
  for (const std::string& line : lines_of(format_page())) {
    if (line.starts_with("## ")) kind.clear();
    if (line.starts_with("### ")) kind = line.substr(4);
    if (kind.empty() || !line.starts_with("| ")) continue;
    const std::string key = line.substr(2, line.find(" |", 2) - 2);
    if (key != "key") kinds[kind].insert(key);
  }
  return kinds;
}

std::vector<std::string> documented_examples() {
  std::vector<std::string> examples;
  bool inside = false;
  for (const std::string& line : lines_of(format_page())) {
    if (line.starts_with("```")) inside = line == "```json";
    else if (inside) examples.push_back(line);
  }
  return examples;
}

template <typename T>
std::vector<T> all_of_type(const RankTrace& trace) {
  std::vector<T> result;
  for (const TraceEvent& event : trace.events) {
    if (const T* one = std::get_if<T>(&event.what)) result.push_back(*one);
  }
  return result;
}

TEST_CASE("every kind and key of FORMAT.md is written, and nothing else is") {
  const auto documented = documented_keys();
  for (const bool values : {true, false}) {
    const TemporaryFolder folder;
    SmallRun::Options options;
    options.values = values;
    options.fails = 1;
    SmallRun(folder.path(), options);
    std::set<std::string> kinds;
    for (const char* name : {"rank0.jsonl", "rank1.jsonl", "rank2.jsonl"}) {
      for (const std::string& line : lines_of(read_whole_file(folder / name))) {
        const json event = json::parse(line);
        const std::string kind = event["e"];
        kinds.insert(kind);
        INFO(line);
        REQUIRE(documented.count(kind) == 1);
        Keys expected = documented.at(kind);
        if (!values) expected.erase("values");
        CHECK(keys_of(event) == expected);
      }
    }
    std::set<std::string> expected;
    for (const auto& [kind, keys] : documented) expected.insert(kind);
    CHECK(kinds == expected);
  }
}

TEST_CASE("the examples of FORMAT.md are read, one of each kind, with all keys") {
  const auto documented = documented_keys();
  std::set<std::string> kinds;
  event::Header header;
  for (const std::string& example : documented_examples()) {
    INFO(example);
    const json object = json::parse(example);
    const std::string kind = object["e"];
    CHECK(kinds.insert(kind).second);
    CHECK(keys_of(object) == documented.at(kind));
    if (kind == "header") {
      header = parse_header(example);
    } else {
      header.rank = object.value(kind == "send" ? "source" : "destination", 0);
      CHECK(std::holds_alternative<TraceEvent>(parse_event(example, header)));
    }
  }
  CHECK(kinds.size() == documented.size());
}

TEST_CASE("what was told is what is read") {
  const TemporaryFolder folder;
  SmallRun::Options options;
  options.fails = 1;
  SmallRun(folder.path(), options);
  const RunTrace run = read_run(folder.path());
  CHECK(run.notes.empty());
  REQUIRE(run.ranks.size() == 3);

  const event::Header& header = run.ranks[1].header;
  CHECK(header.run == "small 1");
  CHECK(header.program == "small");
  CHECK(header.rank == 1);
  CHECK(header.world_size == 3);
  CHECK(header.clock == "wall");
  CHECK(header.dtype == "fp32");
  CHECK(header.sampled);
  CHECK(header.num_parameters == 7);
  CHECK(header.padded_parameters == 9);
  REQUIRE(header.units.size() == 2);
  CHECK(header.units[1].name == "head");
  CHECK(header.units[1].range == Range{4, 9});
  CHECK(header.tensors[1].range == Range{4, 7});
  REQUIRE(header.shards.size() == 3);
  CHECK(header.shards[2].owner == 2);
  CHECK(header.shards[2].range == Range{6, 9});
  CHECK(json::parse(header.options)["text"] == "a \"quoted\" word");
  CHECK(json::parse(header.closed_form)["parameters"] == 36);

  const auto steps = all_of_type<event::Step>(run.ranks[0]);
  REQUIRE(steps.size() == 1 + 2 * 4);
  CHECK(steps[0].iteration == -1);
  CHECK(steps[0].caption == "0. Start: allocate and initialize");
  CHECK(steps[1].unit == "embedding");
  CHECK(steps[8].iteration == 1);
  CHECK(steps[8].number == 6);
  CHECK_FALSE(steps[8].unit);

  const auto allocations = all_of_type<event::Allocate>(run.ranks[0]);
  CHECK(allocations[0].name == "params");
  CHECK(allocations[0].category == Memory::parameters);
  CHECK(allocations[0].bytes == 36);
  CHECK(allocations[0].range == Range{0, 9});
  CHECK(allocations[0].address->starts_with("0x"));
  CHECK(allocations[2].size == 64);
  CHECK_FALSE(allocations[2].range);
  CHECK(allocations[3].dtype == Dtype::fp16);
  CHECK(all_of_type<event::Free>(run.ranks[0]).size() == allocations.size());

  const auto writes = all_of_type<event::Write>(run.ranks[2]);
  CHECK(writes[0].what == "initial");
  CHECK(writes[0].values == std::vector<double>{0.5, 0.5, 0.5, 0.5});
  CHECK(writes[2].what == "local gradient");
  CHECK(writes[2].range == Range{0, 9});
  CHECK(writes[2].values[0] == 4);

  const auto libraries = all_of_type<event::Library>(run.ranks[0]);
  REQUIRE(libraries[0].parts.size() == 3);
  CHECK_FALSE(libraries[0].average);
  CHECK(libraries[0].parts[2].range == Range{6, 9});
  CHECK(libraries[0].parts[2].from == std::vector<int>{2});

  const auto iterations = all_of_type<event::Iteration>(run.ranks[0]);
  REQUIRE(iterations.size() == 2);
  CHECK(iterations[0].loss == 5.5);
  CHECK_FALSE(iterations[0].skipped);
  CHECK_FALSE(iterations[1].loss);
  CHECK(iterations[1].skipped);
  CHECK(iterations[0].memory[static_cast<std::size_t>(Memory::parameters)].live == 36);
  CHECK(iterations[0].memory[static_cast<std::size_t>(Memory::activations)].live == 0);
  CHECK(iterations[0].memory[static_cast<std::size_t>(Memory::activations)].peak == 10);
  CHECK(iterations[0].total.live == 36 + 36 + 256);
  CHECK_FALSE(iterations[0].budget);

  CHECK(all_of_type<event::End>(run.ranks[0])[0].reason == "closed");
  CHECK(all_of_type<event::End>(run.ranks[1])[0].reason == "failed");
  CHECK(all_of_type<event::End>(run.ranks[1])[0].message == "rank \"one\" is\ttired");
}

TEST_CASE("allocations and frees of a trace add up to the tracker's live and peak bytes") {
  const TemporaryFolder folder;
  SmallRun(folder.path(), {});
  for (const RankTrace& trace : read_run(folder.path()).ranks) {
    std::map<std::int64_t, event::Allocate> alive;
    std::array<std::int64_t, kMemoryCategories> live{}, peak{};
    std::int64_t peak_total = 0;
    for (const TraceEvent& event : trace.events) {
      if (const auto* allocate = std::get_if<event::Allocate>(&event.what)) {
        alive[allocate->buffer] = *allocate;
      }
      if (const auto* free = std::get_if<event::Free>(&event.what)) alive.erase(free->buffer);
      live.fill(0);
      std::int64_t total = 0;
      for (const auto& [id, one] : alive) {
        live[static_cast<std::size_t>(one.category)] += one.bytes;
        total += one.bytes;
      }
      peak_total = std::max(peak_total, total);
      for (std::size_t c = 0; c < live.size(); ++c) peak[c] = std::max(peak[c], live[c]);
      if (const auto* iteration = std::get_if<event::Iteration>(&event.what)) {
        for (std::size_t c = 0; c < live.size(); ++c) {
          CHECK(iteration->memory[c].live == live[c]);
          CHECK(iteration->memory[c].peak == peak[c]);
        }
        CHECK(iteration->total.live == total);
        CHECK(iteration->total.peak == peak_total);
      }
    }
    CHECK(alive.empty());
  }
}

TEST_CASE("the rules of FORMAT.md give every traced value: sums of 2^rank are sets of ranks") {
  for (const int K : {2, 3, 5}) {
    const TemporaryFolder folder;
    SmallRun::Options options;
    options.world_size = K;
    SmallRun(folder.path(), options);
    const RunTrace run = read_run(folder.path());
    const NaiveReplay replay(run);
    CHECK(replay.values_checked > 20 * K);
    CHECK((K == 2 || replay.sums_checked > K));  // of 2 ranks every sum is an average at once
  }
}

TEST_CASE("a trace in which one add became a copy, or one message is missing, is noticed") {
  const TemporaryFolder folder;
  SmallRun(folder.path(), {});
  const std::string path = folder / "rank1.jsonl";
  const std::string whole = read_whole_file(path);
  const std::size_t receive = whole.find("\"e\":\"receive\"");
  const std::size_t effect = whole.find("\"effect\":\"add\"", receive);
  std::string altered = whole;
  write_whole_file(path, altered.replace(effect, 14, "\"effect\":\"copy\""));
  CHECK_THROWS_AS(NaiveReplay(read_run(folder.path())), std::logic_error);

  altered = whole;
  const std::size_t send = altered.find("{\"e\":\"send\"");
  altered.erase(send, altered.find('\n', send) + 1 - send);
  write_whole_file(path, altered);
  CHECK_THROWS_AS(NaiveReplay(read_run(folder.path())), std::logic_error);
  // One receive is left alone, and no other gets a message that was not its own.
  const RunTrace run = read_run(folder.path());
  const Matched matched = match_messages(run);
  CHECK(matched.never_sent.size() == 1);
  for (const auto& [from, to] : matched.messages) {
    const auto& sent = std::get<event::Send>(run.ranks[from.rank].events[from.index].what);
    const auto& got = std::get<event::Receive>(run.ranks[to.rank].events[to.index].what);
    CHECK(sent.hop.collective == got.hop.collective);
    CHECK(sent.hop.step == got.hop.step);
    CHECK(sent.hop.range == got.hop.range);
  }
}

TEST_CASE(
    "the key at counts from the first element of the buffer, wherever in the vector it begins") {
  const TemporaryFolder folder;
  Place place;
  MemoryTracker tracker(place);
  Trace trace(place);
  PlainHeap heap(tracker, &trace);
  TraceHeader header;
  header.padded_parameters = 20;
  trace.open(folder.path(), header, 0, false);
  const Buffer shard = heap.allocate(Memory::gradients, "shard", Dtype::fp16, Range{7, 14});
  heap.wrote(shard[{9, 12}], Written::updated);
  trace.close();
  const RunTrace run = read_run(folder.path());
  const auto writes = all_of_type<event::Write>(run.ranks[0]);
  REQUIRE(writes.size() == 1);
  CHECK(writes[0].place.at == 2);
  CHECK(writes[0].size == 3);
  CHECK(writes[0].range == Range{9, 12});
}

TEST_CASE("sends and receives match one to one, also when their files are read in any order") {
  for (const int K : {2, 3, 5}) {
    const TemporaryFolder folder;
    SmallRun::Options options;
    options.world_size = K;
    SmallRun(folder.path(), options);
    const RunTrace run = read_run(folder.path());
    const Matched matched = match_messages(run);
    // Per iteration: ring K*(K-1), direct K-1, chain K-1.
    CHECK(matched.messages.size() == static_cast<std::size_t>(2 * (K - 1) * (K + 2)));
    CHECK(matched.never_sent.empty());
    CHECK(matched.never_received.empty());
    for (const auto& [from, to] : matched.messages) {
      const auto& sent = std::get<event::Send>(run.ranks[from.rank].events[from.index].what);
      const auto& got = std::get<event::Receive>(run.ranks[to.rank].events[to.index].what);
      CHECK(sent.hop.range == got.hop.range);
      CHECK(sent.hop.effect == got.hop.effect);
      CHECK(sent.bytes == got.bytes);
    }
  }
}

TEST_CASE("the bytes of the sends are the bytes that were sent") {
  const TemporaryFolder folder;
  const SmallRun small(folder.path(), {});
  std::map<std::pair<int, int>, std::int64_t> bytes;
  for (const RankTrace& trace : read_run(folder.path()).ranks) {
    int iteration = -1;
    for (const TraceEvent& event : trace.events) {
      if (const auto* step = std::get_if<event::Step>(&event.what)) {
        iteration = static_cast<int>(step->iteration);
      }
      if (const auto* send = std::get_if<event::Send>(&event.what)) {
        bytes[{trace.header.rank, iteration}] += send->bytes;
      }
    }
  }
  CHECK(bytes == small.sent_bytes);
}

TEST_CASE("a trace that is limited to some iterations ends after them, and says why") {
  const TemporaryFolder folder;
  SmallRun::Options options;
  options.iterations = 3;
  options.told = 2;
  SmallRun(folder.path(), options);
  for (const RankTrace& trace : read_run(folder.path()).ranks) {
    CHECK(trace.header.iterations == 2);
    CHECK(all_of_type<event::Iteration>(trace).size() == 2);
    CHECK(std::get<event::End>(trace.events.back().what).reason == "iterations");
    CHECK(trace.ended);
  }
}

TEST_CASE("values that are not finite are told as text, and at most four") {
  const TemporaryFolder folder;
  Place place;
  MemoryTracker tracker(place);
  Trace trace(place);
  PlainHeap heap(tracker, &trace);
  trace.open(folder.path(), {}, 0, true);
  const Buffer fp32 = heap.allocate(Memory::temporary, "a", Dtype::fp32, std::int64_t{6});
  const std::vector<float> values = {INFINITY, -INFINITY, NAN, 1e-45f, 1, 2};
  std::copy(values.begin(), values.end(), fp32.view().as<float>());
  heap.wrote(fp32, Written::updated);
  const Buffer fp16 = heap.allocate(Memory::temporary, "b", Dtype::fp16, std::int64_t{2});
  fp16.view().as<Fp16>()[0] = narrow<Fp16>(65504.0f);
  fp16.view().as<Fp16>()[1] = narrow<Fp16>(-0.1f);
  heap.wrote(fp16, Written::cast);
  const Buffer int32 = heap.allocate(Memory::temporary, "c", Dtype::int32, std::int64_t{1});
  int32.view().as<std::int32_t>()[0] = -2147483647;
  heap.wrote(int32, Written::zero);
  heap.wrote(fp32.view().first(0), Written::zero);  // nothing was written: nothing is told
  trace.close();

  const RunTrace run = read_run(folder.path());
  const auto writes = all_of_type<event::Write>(run.ranks[0]);
  REQUIRE(writes.size() == 3);
  REQUIRE(writes[0].values.size() == 4);
  CHECK(writes[0].values[0] == INFINITY);
  CHECK(writes[0].values[1] == -INFINITY);
  CHECK(std::isnan(writes[0].values[2]));
  CHECK(static_cast<float>(writes[0].values[3]) == 1e-45f);
  REQUIRE(writes[1].values.size() == 2);
  CHECK(writes[1].values[0] == 65504);
  CHECK(static_cast<float>(writes[1].values[1]) == widen(narrow<Fp16>(-0.1f)));
  CHECK(writes[2].values == std::vector<double>{-2147483647});
  CHECK_FALSE(writes[0].range);
}

TEST_CASE("a device that stores nothing has no addresses and no values") {
  const TemporaryFolder folder;
  Place place;
  Trace trace(place);
  trace.open(folder.path(), {}, 0, true);
  Allocation allocation;
  allocation.id = 1;
  allocation.name = "params";
  allocation.range = {0, 4};
  allocation.flat = false;
  trace.allocated(allocation);
  trace.wrote(View(allocation, nullptr, {0, 4}), Written::initial);
  trace.close();
  const RankTrace read = read_run(folder.path()).ranks[0];
  CHECK_FALSE(all_of_type<event::Allocate>(read)[0].address);
  CHECK(all_of_type<event::Write>(read)[0].values.empty());
}

TEST_CASE("names with quotes, control characters and broken UTF-8 are still JSON") {
  const TemporaryFolder folder;
  Place place;
  place.banner = "a \"b\" \\ \n \x01 \xff \xc3\xa9";
  Trace trace(place);
  trace.open(folder.path(), {}, 0, false);
  trace.close();
  const auto steps = all_of_type<event::Step>(read_run(folder.path()).ranks[0]);
  CHECK(steps[0].caption == "a \"b\" \\ \n \x01 \xef\xbf\xbd \xc3\xa9");
}

TEST_CASE("a rank that fails has all it did in its trace, and why it failed") {
  const TemporaryFolder folder;
  Place place;
  try {
    Trace trace(place);
    trace.open(folder.path(), {}, 0, false);
    trace.collective_begins(1, "all_gather", "ring", {0, 0}, -1);
    throw std::runtime_error("no trace.failed() was called");
  } catch (const std::runtime_error&) {
  }
  const RankTrace trace = read_run(folder.path()).ranks[0];
  REQUIRE(trace.events.size() == 3);
  CHECK(std::get<event::End>(trace.events[2].what).reason == "failed");
}

TEST_CASE("while a collective runs, its beginning is already in the file") {
  const TemporaryFolder folder;
  Place place;
  Trace trace(place);
  trace.open(folder.path(), {}, 0, false);
  TraceReader reader(folder / "rank0.jsonl");
  CHECK(reader.next());  // the step
  CHECK_FALSE(reader.next());
  trace.operator_begins("gelu_forward");
  trace.collective_begins(1, "all_gather", "ring", {0, 0}, -1);
  // The same reader goes on where it was.
  CHECK(std::holds_alternative<event::OperatorBegin>(reader.next()->what));
  CHECK(std::holds_alternative<event::CollectiveBegin>(reader.next()->what));
  CHECK_FALSE(reader.next());
  CHECK_FALSE(reader.ended());
  trace.close();
  CHECK(std::holds_alternative<event::End>(reader.next()->what));
  CHECK(reader.ended());
}

TEST_CASE("a trace that cannot be created is an error that names the file") {
  Place place;
  Trace trace(place);
  const TemporaryFolder folder;
  write_whole_file(folder / "blocked", "a file, not a folder");
  try {
    trace.open(folder / "blocked", {}, 0, false);
    FAIL("no error");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()).find("blocked/rank0.jsonl") != std::string::npos);
  }
  CHECK_FALSE(trace.recording());
  TraceHeader header;
  header.options = "not JSON";
  CHECK_THROWS_AS(trace.open(folder.path(), header, 0, false), std::runtime_error);
}

TEST_CASE("a full disk ends the trace but not the run") {
  if (!std::filesystem::exists("/dev/full")) return;
  const TemporaryFolder folder;
  Place place;
  MemoryTracker tracker(place);
  Trace trace(place);
  trace.open(folder.path(), {}, 0, false);
  CHECK(trace.recording());
  // The header of a second trace already fails.
  std::filesystem::create_symlink("/dev/full", folder / "rank1.jsonl");
  TraceHeader header;
  header.rank = 1;
  header.world_size = 2;
  Trace full(place);
  CHECK_THROWS_AS(full.open(folder.path(), header, 0, false), std::runtime_error);
  CHECK_FALSE(full.recording());
  full.step();
  full.iteration(1, false, tracker);
}

TEST_CASE("a smaller run into the same folder leaves no ranks of the larger one behind") {
  const TemporaryFolder folder;
  SmallRun::Options options;
  options.world_size = 5;
  SmallRun(folder.path(), options);
  options.world_size = 3;
  options.run = "small 2";
  SmallRun(folder.path(), options);
  CHECK(read_run(folder.path()).ranks.size() == 3);
  CHECK_FALSE(std::filesystem::exists(folder / "rank3.jsonl"));
}

TEST_CASE("a trace that is not open writes nothing") {
  Place place;
  MemoryTracker tracker(place);
  Trace trace(place);
  PlainHeap heap(tracker, &trace);
  const Buffer buffer = heap.allocate(Memory::temporary, "a", Dtype::fp32, Range{0, 3});
  trace.step();
  trace.wrote(buffer, Written::zero);
  trace.sent({}, buffer);
  trace.received({}, buffer, View());
  trace.moved({}, buffer, buffer);
  trace.library(1, "all_gather", buffer);
  trace.collective_begins(1, "reduce", "ring", {0, 3}, 1);
  trace.collective_ends(1);
  trace.operator_begins("x");
  trace.operator_ends("x");
  trace.iteration(1, false, tracker);
  trace.failed("x");
  trace.close();
  CHECK_FALSE(trace.recording());
}

}  // namespace
}  // namespace zero
