// A trace whose clock knows its times late: lines wait for them, in order, and none is lost.
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.h"
#include "common/trace/reader.h"
#include "common/trace/trace.h"
#include "tests/support/files.h"

namespace zero {
namespace {

// What the test knows of the clock that a trace owns.
struct Device {
  std::int64_t told = 0;     // moments so far; the n-th, from 1, is at 1000 n
  std::int64_t reached = 0;  // so many of them are known
  int waits = 0;
  bool dead = false;  // a peer has died: waiting throws
  bool gone = false;  // nobody may mark or wait any more
  bool misused = false;
  std::int64_t program_time = 5;
};

class LateClock : public Clock {
 public:
  explicit LateClock(Device& device) : device_(device) {}
  std::string_view name() const override { return "device"; }
  std::optional<std::int64_t> mark() noexcept override {
    device_.misused = device_.misused || device_.gone;
    ++device_.told;
    return std::nullopt;
  }
  std::optional<std::int64_t> next() noexcept override {
    if (asked_ == device_.told || asked_ == device_.reached) return std::nullopt;
    return 1000 * ++asked_;
  }
  void wait() override {
    device_.misused = device_.misused || device_.gone;
    ++device_.waits;
    if (device_.dead) throw std::runtime_error("rank 1 has died");
    device_.reached = device_.told;
  }
  std::int64_t now() noexcept override { return device_.program_time; }

 private:
  Device& device_;
  std::int64_t asked_ = 0;
};

struct Traced {
  Traced() {
    TraceHeader header;
    header.run = header.program = "late";
    trace.open(folder.path(), header, 0, false, std::make_unique<LateClock>(device));
  }
  std::string text() const { return read_whole_file(folder / "rank0.jsonl"); }
  std::vector<TraceEvent> events() const {
    const RunTrace run = read_run(folder.path());
    CHECK(run.notes.empty());
    return run.ranks.at(0).events;
  }
  // More than an ordinary flush needs: an operator with this name.
  void long_operator(int number) {
    trace.operator_begins("operator" + std::to_string(number) + std::string(70'000, 'x'));
  }

  TemporaryFolder folder;
  Device device;
  Place place;
  Trace trace{place};
};

bool is_whole_lines(const std::string& text) { return text.empty() || text.back() == '\n'; }

TEST_CASE("the header names the clock, and each event has the time that the clock says later") {
  Traced run;
  run.trace.operator_begins("gelu_forward");
  run.trace.operator_ends("gelu_forward");
  run.trace.step();
  run.trace.operator_begins("copy");
  run.trace.close();
  CHECK_THAT(run.text(), Catch::Matchers::Contains("\"clock\":\"device\""));
  const auto events = run.events();
  REQUIRE(events.size() == 6);
  for (std::size_t i = 0; i < 5; ++i) CHECK(events[i].t == 1000 * static_cast<int>(i + 1));
  CHECK(std::holds_alternative<event::OperatorBegin>(events[1].what));
  CHECK(std::holds_alternative<event::End>(events[5].what));
}

TEST_CASE("where the file must be complete the program waits, and elsewhere it does not") {
  Traced run;  // its first step is complete
  const int at_first = run.device.waits;
  const std::string begin = run.text();
  CHECK(at_first == 1);
  run.trace.operator_begins("gelu_forward");
  run.long_operator(0);
  CHECK(run.device.waits == at_first);
  CHECK(run.text() == begin);  // nothing is known yet
  run.trace.collective_begins(1, "all_gather", "ring", {0, 6}, -1);
  CHECK(run.device.waits == at_first + 1);
  CHECK_THAT(run.text(), Catch::Matchers::Contains("\"e\":\"collective\",\"t\":4000,"));
}

TEST_CASE("of times that are known in batches each batch is written, as whole lines and in order") {
  Traced run;
  for (int i = 0; i < 9; ++i) {
    run.device.reached += i % 3;  // fewer than are told
    run.long_operator(i);
    const std::string text = run.text();
    CHECK(is_whole_lines(text));
    std::int64_t lines = 0;
    for (const char c : text) lines += c == '\n';
    CHECK(lines == 1 + run.device.reached);  // the header, and what is known
  }
  run.trace.step();
  run.trace.close();
  const auto events = run.events();
  REQUIRE(events.size() == 12);  // with the end
  for (std::size_t i = 0; i < 11; ++i) {
    CHECK(events[i].t == 1000 * static_cast<int>(i + 1));
    if (const auto* op = std::get_if<event::OperatorBegin>(&events[i].what))
      CHECK(op->name.starts_with("operator" + std::to_string(i - 1) + "x"));
  }
}

TEST_CASE("a rank that fails waits for nothing: what was not reached is told as of now") {
  Traced run;
  run.trace.operator_begins("a");
  run.trace.operator_begins("b");
  run.trace.operator_begins("c");
  run.device.dead = true;
  run.device.reached += 2;
  CHECK_THROWS_WITH(run.trace.step(), "rank 1 has died");
  run.device.gone = true;
  run.device.program_time = 3500;
  run.trace.failed("rank 1 has died");
  CHECK_FALSE(run.device.misused);
  const auto events = run.events();
  std::vector<std::int64_t> times;
  for (const TraceEvent& event : events) times.push_back(event.t);
  CHECK(times == std::vector<std::int64_t>{1000, 2000, 3000, 3500, 3500, 3500});
  REQUIRE(std::holds_alternative<event::End>(events.back().what));
  CHECK(std::get<event::End>(events.back().what).message == "rank 1 has died");
}

TEST_CASE("times never decrease, also where the program's clock is behind the device's") {
  Traced run;
  run.trace.operator_begins("a");
  run.device.reached = run.device.told;
  run.device.program_time = 7;  // the device says 2000
  run.trace.failed("too bad");
  const auto events = run.events();
  REQUIRE(events.size() == 3);
  CHECK(events[1].t == 2000);
  CHECK(events[2].t == 2000);
}

TEST_CASE("a trace that is destroyed asks nothing of a device that may be gone") {
  TemporaryFolder folder;
  Device device;
  Place place;
  {
    Trace trace(place);
    trace.open(folder.path(), {}, 0, false, std::make_unique<LateClock>(device));
    trace.operator_begins("a");
    device.gone = true;
    device.program_time = 9000;
  }
  CHECK_FALSE(device.misused);
  const std::string text = read_whole_file(folder / "rank0.jsonl");
  CHECK_THAT(text, Catch::Matchers::Contains("{\"e\":\"operator\",\"t\":9000,"));
  CHECK_THAT(text, Catch::Matchers::Contains("{\"e\":\"end\",\"t\":9000,\"reason\":\"closed\""));
}

TEST_CASE("what waits for its time is bounded, and the end of a span does not throw") {
  Traced run;
  const int before = run.device.waits;
  for (int i = 0; i < 100; ++i) run.long_operator(i);  // 7 MB
  CHECK(run.device.waits == before + 1);
  CHECK(run.text().size() > 4'000'000);
  run.device.dead = true;
  for (int i = 0; i < 100; ++i) run.long_operator(i);
  CHECK_NOTHROW(run.trace.operator_ends("x"));
  CHECK(run.device.waits > before + 1);
  run.device.dead = false;
  run.trace.close();
  CHECK(run.events().size() == 203);
}

TEST_CASE("with a limit of iterations the trace ends in order, with all times") {
  TemporaryFolder folder;
  Device device;
  Place place;
  MemoryTracker tracker(place);
  Trace trace(place);
  trace.open(folder.path(), {}, 1, false, std::make_unique<LateClock>(device));
  place.iteration = 0;
  trace.operator_begins("a");
  trace.operator_ends("a");
  device.program_time = 10'000;
  trace.iteration(1.5, false, tracker);
  CHECK_FALSE(trace.recording());
  const auto events = read_run(folder.path()).ranks.at(0).events;
  REQUIRE(events.size() == 5);
  CHECK(events[3].t == 4000);
  CHECK(events[4].t == 10'000);
}

}  // namespace
}  // namespace zero
