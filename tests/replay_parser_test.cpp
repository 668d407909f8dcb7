// The quick parser gives what the usual one gives, of every line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>
#include <sstream>

#include "catch.h"
#include "tests/replay_runs.h"
#include "tests/small_run.h"
#include "visualizer/replay/read.h"

namespace zero::replay {
namespace {

// Every field of an event, as text.
struct Told {
  std::string text;
  template <class... T>
  void add(const T&... values) {
    ((text += fmt::format("{} ", values)), ...);
  }
  void add_optional(const std::optional<std::string>& value) { add(value ? "'" + *value : "null"); }
  void add_range(const std::optional<Range>& r) {
    if (r) add(r->begin, r->end);
    else add("null");
  }
  void add_hop(const event::Hop& hop) {
    add(hop.collective, hop.name, hop.algorithm, hop.step, hop.steps, hop.chunk, hop.source,
        hop.destination, static_cast<int>(hop.effect),
        fmt::format("{}", fmt::join(hop.values, ",")));
    add_range(hop.range);
  }
  void add_place(event::Place place) { add(place.buffer, place.at); }

  void operator()(const event::Step& e) {
    add(e.iteration, e.number, e.caption);
    add_optional(e.unit);
  }
  void operator()(const event::OperatorBegin& e) {
    add(e.name);
    add_optional(e.unit);
  }
  void operator()(const event::OperatorEnd& e) { add(e.name); }
  void operator()(const event::Allocate& e) { add(e.buffer, e.name, e.bytes, e.size); }
  void operator()(const event::Free& e) { add(e.buffer); }
  void operator()(const event::Write& e) {
    add_place(e.place);
    add(e.size, e.what, fmt::format("{}", fmt::join(e.values, ",")));
    add_range(e.range);
  }
  void operator()(const event::CollectiveBegin& e) { add(e.collective, e.name); }
  void operator()(const event::CollectiveEnd& e) { add(e.collective); }
  void operator()(const event::Send& e) {
    add_hop(e.hop);
    add(e.bytes);
    add_place(e.from);
  }
  void operator()(const event::Receive& e) {
    add_hop(e.hop);
    add(e.bytes, e.divisor);
    add_place(e.into);
    add_place(e.own.value_or(event::Place{-1, -1}));
  }
  void operator()(const event::Move& e) {
    add_hop(e.hop);
    add(e.divisor);
    add_place(e.from);
    add_place(e.into);
  }
  void operator()(const event::Library& e) { add(e.collective, e.parts.size()); }
  void operator()(const event::Iteration& e) { add(e.iteration, e.total.peak); }
  void operator()(const event::End& e) { add(e.reason); }
};

std::string tell(const LineParser& parser, const std::string& line, const event::Header& header) {
  try {
    const auto parsed = parser(line, header);
    if (const auto* unknown = std::get_if<UnknownEvent>(&parsed)) return "unknown " + unknown->kind;
    const auto& event = std::get<TraceEvent>(parsed);
    Told told;
    told.add(event.t, event.what.index());
    std::visit(told, event.what);
    return told.text;
  } catch (const BadLine& error) {
    return std::string("bad: ") + error.what();
  }
}

TEST_CASE("quick and usual parser give the same event, or the same message, for every line") {
  std::mt19937 random(2);
  int bad = 0, good = 0;
  for (const bool small : {true, false}) {
    const TemporaryFolder folder;
    if (small) SmallRun(folder.path(), {.world_size = 3, .iterations = 1});
    else run_collectives(folder.path(), Algorithm::direct, 3, 19);
    for (int r = 0; r < 3; ++r) {
      const LineParser quick = fast_parser();
      std::istringstream text(read_whole_file(folder / ("rank" + std::to_string(r) + ".jsonl")));
      std::string line;
      std::getline(text, line);
      const event::Header header = parse_header(line);
      while (std::getline(text, line)) {
        REQUIRE(tell(quick, line, header) == tell(parse_event, line, header));
        ++good;
        for (int i = 0; i < 30; ++i) {
          std::string changed = line;
          const std::size_t at = random() % changed.size();
          const unsigned what = random() % 4;
          if (what == 0) changed.erase(at, random() % 4);
          if (what == 1) changed[at] = static_cast<char>(random());
          if (what == 2) changed.insert(at, changed.substr(random() % changed.size(), 9));
          if (what == 3) changed.replace(at, 1, "-9007199254740993");
          INFO(changed);
          const std::string expected = tell(parse_event, changed, header);
          REQUIRE(tell(quick, changed, header) == expected);
          bad += expected.starts_with("bad: ");
        }
      }
    }
  }
  CHECK(good > 200);
  CHECK(bad > 1000);
}

}  // namespace
}  // namespace zero::replay
