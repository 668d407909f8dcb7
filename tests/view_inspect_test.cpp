// Inspect, tooltips and heat colours, against the lines of the trace files.
#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <set>

#include "catch.h"
#include "common/memory/bytes.h"
#include "tests/replay_runs.h"
#include "tests/view_sheet.h"
#include "visualizer/view/heat.h"
#include "visualizer/view/inspect_panel.h"
#include "visualizer/view/kept.h"
#include "visualizer/view/words.h"

namespace zero::view {
namespace {

using nlohmann::json;
using namespace replay;

Target of_buffer(const replay::Buffer& buffer, int run) {
  Target target{Target::Kind::buffer, run, buffer.info->rank};
  target.buffer = buffer.number();
  return target;
}

// Of every kind a good many, all in the world of now or, for events, near it.
std::vector<Target> targets_of(const Session& session, int run) {
  std::vector<Target> all;
  const Run& of = session.run(run);
  const World& world = session.world(run);
  for (int r = 0; r < of.world_size(); ++r) {
    all.push_back({Target::Kind::rank, run, r});
    for (const replay::Buffer& buffer : world.ranks[static_cast<std::size_t>(r)].buffers) {
      all.push_back(of_buffer(buffer, run));
      for (const Cell& cell : buffer.cells().all()) {
        Target target = of_buffer(buffer, run);
        target.kind = Target::Kind::cell;
        target.begin = cell.begin;
        target.end = cell.end;
        all.push_back(target);
      }
    }
  }
  for (EventIndex e = world.position > 60 ? world.position - 60 : 0;
       e < std::min(of.size(), world.position + 60); ++e) {
    Target target{Target::Kind::moment, run, of.rank_of(e)};
    target.event = e;
    all.push_back(target);
    target.begin = 3;
    target.end = 4;
    all.push_back(target);
    if (!of.hop(e)) continue;
    target = {Target::Kind::transfer, run, of.rank_of(e)};
    target.event = e;
    all.push_back(target);
  }
  for (const Chapter& chapter : of.chapters()) {
    Target target{Target::Kind::chapter, run};
    target.event = chapter.begin;
    all.push_back(target);
  }
  return all;
}

Sheet inspect(const Headless& head, Session& session, Rect area, const Input& input = {}) {
  return draw_alone(head, session, input, [&](Context& context) { draw_inspect(context, area); });
}

std::vector<json> lines_of(const std::string& file) {
  std::vector<json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

struct Traced {
  TemporaryFolder folder;
  std::vector<std::shared_ptr<const Run>> runs;

  void add(const std::string& stage, int ranks) {
    trace_stage(stage, ranks, folder / stage);
    runs.push_back(Run::open(folder / stage));
  }
};

}  // namespace

TEST_CASE("Nothing that inspect says is outside of its box or the panel") {
  for (const int ranks : {1, 3, 5}) {
    Traced traced;
    for (const std::string& stage : kStages) traced.add(stage, ranks);
    Session session(traced.runs);
    const Headless head(500, 640);
    int shown = 0;
    for (const double part : {0.1, 0.45, 0.8}) {
      session.seek(session.length() * part);
      for (int run = 0; run < session.size(); ++run) {
        const std::vector<Target> targets = targets_of(session, run);
        for (std::size_t i = 0; i < targets.size(); i += 17) {
          session.selected = targets[i];
          for (const Rect area : {Rect{10, 20, 290, 320}, Rect{10, 20, 470, 620},
                                  Rect{10, 20, 110, 70}, Rect{10, 20, 40, 30}}) {
            for (const int scrolled : {0, 5, 1000}) {
              session.scrolled = scrolled;
              session.scrolled_of = session.selected;
              const Sheet sheet = inspect(head, session, area);
              const std::string wrong = misplaced(sheet, area);
              if (wrong != "") FAIL(wrong);
              for (const Mark& mark : sheet.marks) REQUIRE(area.contains(mark.box, 1));
              for (std::size_t a = 0; a < sheet.labels.size(); ++a) {
                for (std::size_t b = 0; b < a; ++b) {
                  if (!sheet.labels[a].ink.overlaps(sheet.labels[b].ink, 1)) continue;
                  FAIL(sheet.labels[a].text << " over " << sheet.labels[b].text);
                }
              }
              ++shown;
            }
          }
        }
      }
    }
    CHECK(shown > 1000);
  }
}

TEST_CASE("Inspect says of each buffer what its line in the trace says") {
  Traced traced;
  traced.add("zero3", 3);
  Session session(traced.runs);
  const Headless head(600, 3000);  // all lines at once
  const Rect area = head.area();
  for (int rank = 0; rank < 3; ++rank) {
    const std::string file = fmt::format("rank{}.jsonl", rank);
    const std::vector<json> lines = lines_of(traced.folder / "zero3/" + file);
    std::map<std::int64_t, std::size_t> freed;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i]["e"] == "free") freed[lines[i]["buffer"]] = i + 1;
    }
    int buffers = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const json& line = lines[i];
      if (line["e"] != "allocate") continue;
      if (++buffers % 5 != 1) continue;
      Target target{Target::Kind::buffer, 0, rank};
      target.buffer = line["buffer"];
      session.selected = target;
      const Sheet sheet = inspect(head, session, area);
      CHECK(sheet.says(line["name"]));
      CHECK(sheet.says(format_bytes(line["bytes"])));
      CHECK(sheet.says(line["address"]));
      CHECK(sheet.says(
          fmt::format("{} × {} B", with_commas(line["size"]), line["dtype"] == "fp16" ? 2 : 4)));
      if (line["range"].is_null()) {
        CHECK(sheet.says("none: not of the flat vector"));
      } else {
        CHECK(sheet.says(
            fmt::format("[{}, {})", with_commas(line["range"][0]), with_commas(line["range"][1]))));
      }
      CHECK(sheet.says(fmt::format("{}:{}", file, i + 1)));
      const auto death = freed.find(line["buffer"]);
      CHECK(sheet.says(death == freed.end() ? "never, in this trace"
                                            : fmt::format("{}:{}", file, death->second)));
    }
    CHECK(buffers > 20);
  }
}

TEST_CASE("Inspect names exactly the ranks whose values are in a cell") {
  const int K = 5;
  TemporaryFolder folder;
  run_collectives(folder / "run", Algorithm::ring, K, 23);
  Session session({Run::open(folder / "run")});
  const Run& run = session.run(0);
  const Headless head(600, 3000);
  int sums = 0;
  for (EventIndex e = 0; e < run.size(); ++e) {
    // Each value is 2^rank of its ranks, added up, and divided by K where it is an average.
    const auto* receive = std::get_if<event::Receive>(&run.event(e).what);
    if (!receive || receive->hop.values.empty()) continue;
    session.seek_position(0, e + 1);
    Target target{Target::Kind::cell, 0, run.rank_of(e)};
    target.buffer = receive->into.buffer;
    target.begin = receive->into.at;
    target.end = target.begin + receive->hop.range.size();
    session.selected = target;
    const Sheet sheet = inspect(head, session, head.area());
    const double value = receive->hop.values[0];
    const bool whole = value == std::floor(value) && receive->divisor == 1;
    const auto bits = static_cast<unsigned>(std::lround(whole ? value : value * K));
    std::string ranks;
    for (int r = 0; r < K; ++r) {
      if (bits >> r & 1) ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    }
    if (receive->divisor > 1) {
      CHECK(sheet.says("average of all 5 ranks"));
      CHECK(sheet.says("by 5"));
    } else if (receive->hop.effect == Effect::add) {
      ++sums;
      CHECK(sheet.says(bits == 31 ? "sum of all 5 ranks" : "sum of ranks " + ranks));
      CHECK(sheet.says("not yet"));
    }
    std::string values;
    for (const double v : receive->hop.values) {
      values += (values.empty() ? "" : ", ") + fmt::format("{:.5g}", v);
    }
    CHECK(sheet.says(values));
  }
  CHECK(sums > 20);
}

TEST_CASE("A message's inspection has its bytes, its range, its way and both lines") {
  Traced traced;
  traced.add("zero2", 3);
  Session session(traced.runs);
  const Run& run = session.run(0);
  const Headless head(600, 2000);
  int messages = 0;
  for (EventIndex e = 0; e < run.size(); e += 1) {
    const auto* send = std::get_if<event::Send>(&run.event(e).what);
    if (!send || ++messages % 7 != 0) continue;
    const EventIndex receive = *run.partner(e);
    Target target{Target::Kind::transfer, 0, run.rank_of(e)};
    target.event = e;
    session.selected = target;
    for (const auto& [position, state] : {std::pair<std::size_t, const char*>{e, "not sent yet"},
                                          {e + 1, "under way"},
                                          {receive, "under way"},
                                          {receive + 1, "received"}}) {
      session.seek_position(0, position);
      const Sheet sheet = inspect(head, session, head.area());
      CHECK(sheet.says(state));
      CHECK(sheet.says(format_bytes(send->bytes)));
      CHECK(sheet.says(with_commas(send->hop.range.size())));
      CHECK(sheet.says(
          fmt::format("{}, step {} of {}", send->hop.name, send->hop.step, send->hop.steps)));
      CHECK(sheet.says(
          fmt::format("GPU {} to GPU {}, ring, zero2", send->hop.source, send->hop.destination)));
      CHECK(sheet.says(fmt::format("rank{}.jsonl:{}", send->hop.source, run.event(e).line)));
      CHECK(sheet.says(
          fmt::format("rank{}.jsonl:{}", send->hop.destination, run.event(receive).line)));
    }
  }
  CHECK(messages > 30);
}

TEST_CASE("A rank's inspection has its tracker's numbers and its counters") {
  Traced traced;
  traced.add("zero1", 3);
  Session session(traced.runs);
  session.seek(session.length());
  const Headless head(600, 2000);
  for (int rank = 0; rank < 3; ++rank) {
    const std::vector<json> lines =
        lines_of(traced.folder / fmt::format("zero1/rank{}.jsonl", rank));
    std::int64_t sent = 0, received = 0;
    json last;
    for (const json& line : lines) {
      if (line["e"] == "send") sent += line["bytes"].get<std::int64_t>();
      if (line["e"] == "receive") received += line["bytes"].get<std::int64_t>();
      if (line["e"] == "iteration") last = line;
    }
    session.selected = {Target::Kind::rank, 0, rank};
    const Sheet sheet = inspect(head, session, head.area());
    CHECK(sheet.says(format_bytes(sent)));
    CHECK(sheet.says(format_bytes(received)));
    CHECK(sheet.says(with_commas(last["total"][1])));
    for (const auto& [name, bytes] : last["memory"].items()) {
      if (bytes[1] > 0) CHECK(sheet.says(with_commas(bytes[1])));
    }
    CHECK(sheet.says("its trace is over"));
  }
}

TEST_CASE("A history tells the events in order, and a click on one goes there") {
  Traced traced;
  traced.add("ddp", 3);
  Session session(traced.runs);
  const Run& run = session.run(0);
  session.seek(session.length() * 0.7);
  const replay::Buffer* chosen = nullptr;
  for (const replay::Buffer& buffer : session.world(0).ranks[1].buffers) {
    if (buffer.info->allocate->category == Memory::gradients) chosen = &buffer;
  }
  REQUIRE(chosen);
  const Target selected = of_buffer(*chosen, 0);
  session.selected = selected;
  Headless head(1280, 720);
  const BufferInfo& info = *chosen->info;
  const std::vector<Touched> touched = history(run, info, 0);
  REQUIRE(touched.size() > 4);
  // As far down as it goes: the last line of the history is in sight.
  Input input;
  const Rect side = parts_of(session, head.area(), Content::window).side;
  input.mouse = side.center();
  input.wheel = -1000;
  head.layout(session, Content::window, input);
  head.layout(session, Content::window);
  CHECK(session.scrolled > 0);
  int rows = 0;
  EventIndex last = 0;
  for (const Mark& mark : std::vector<Mark>(head.marks())) {
    if (mark.target.event != kInspectEvent) continue;
    ++rows;
    const auto event = static_cast<EventIndex>(mark.target.begin);
    CHECK(event > last);
    last = event;
    Input click;
    click.mouse = mark.box.center();
    click.pressed = true;
    head.layout(session, Content::window, click);
    CHECK(session.world(0).position == event + 1);
    CHECK(session.selected == selected);
    // What is above the list has changed: the list stays where it is.
    head.layout(session);
  }
  CHECK(rows > 4);
  CHECK(last == touched.back().event);
  // Up again.
  input.wheel = 1000;
  head.layout(session, Content::window, input);
  CHECK(session.scrolled == 0);
  // Another selection begins at its beginning.
  session.scrolled = 3;
  session.selected = {Target::Kind::rank, 0, 1};
  head.layout(session);
  CHECK(session.scrolled == 0);
}

TEST_CASE("A list that is scrolled shows the same lines as one that has all the room") {
  Traced traced;
  traced.add("zero2", 3);
  Session session(traced.runs);
  session.seek(session.length() * 0.6);
  session.selected = {Target::Kind::rank, 0, 1};
  const Headless head(420, 3000);
  const Sheet all = inspect(head, session, head.area());
  std::set<std::string> seen;
  for (int scrolled = 0; scrolled < 200; ++scrolled) {
    session.scrolled = scrolled;
    for (const Label& label : inspect(head, session, {0, 0, 420, 300}).labels) {
      seen.insert(label.text);
    }
  }
  for (const Label& label : all.labels) {
    INFO(label.text);
    CHECK(seen.count(label.text) == 1);
  }
}

TEST_CASE("What is not there is not inspected") {
  TemporaryFolder folder;
  run_collectives(folder / "run", Algorithm::direct, 3, 10);
  Session session({Run::open(folder / "run")});
  const Headless head(400, 400);
  std::vector<Target> wrong;
  for (int kind = 0; kind <= static_cast<int>(Target::Kind::control); ++kind) {
    for (const int run : {-1, 0, 7}) {
      for (const int rank : {-1, 0, 99}) {
        for (const std::int64_t buffer : {std::int64_t{-1}, std::int64_t{999}, INT64_MIN}) {
          Target target{static_cast<Target::Kind>(kind), run, rank, buffer};
          target.begin = buffer;
          target.end = INT64_MAX;
          target.event = buffer == 999 ? SIZE_MAX : static_cast<std::size_t>(buffer);
          wrong.push_back(target);
        }
      }
    }
  }
  for (const Target& target : wrong) {
    session.selected = session.hovered = target;
    const Sheet sheet = inspect(head, session, head.area());
    CHECK(misplaced(sheet, head.area()) == "");
    CHECK_FALSE(sheet.labels.empty());
    draw_alone(head, session, {}, [&](Context& context) { draw_tooltip(context, head.area()); });
  }
}

TEST_CASE("A tooltip is within the picture wherever the pointer is, and does not lie under it") {
  Traced traced;
  traced.add("ddp", 3);
  traced.add("zero3", 3);
  Session session(traced.runs);
  session.seek(session.length() * 0.5);
  for (const auto& [width, height] : {std::pair{1280, 720}, {300, 200}, {60, 40}}) {
    const Headless head(width, height);
    const Rect area = head.area();
    for (int run = 0; run < 2; ++run) {
      const std::vector<Target> targets = targets_of(session, run);
      for (std::size_t i = 0; i < targets.size(); i += 11) {
        session.hovered = targets[i];
        for (const Point mouse : {Point{0, 0}, Point{area.x1 - 1, 0}, Point{0, area.y1 - 1},
                                  Point{area.x1 - 1, area.y1 - 1}, area.center()}) {
          Input input;
          input.mouse = mouse;
          const Sheet sheet = draw_alone(head, session, input,
                                         [&](Context& context) { draw_tooltip(context, area); });
          const std::string wrong = misplaced(sheet, area);
          if (wrong != "") FAIL(wrong);
          if (width < 1000) continue;
          REQUIRE_FALSE(sheet.labels.empty());
          REQUIRE(sheet.labels.size() <= 4);
          for (const Label& label : sheet.labels) REQUIRE_FALSE(label.ink.contains(mouse));
        }
      }
    }
  }
}

TEST_CASE("Tooltips have exact bytes") {
  Traced traced;
  traced.add("zero1", 3);
  Session session(traced.runs);
  session.seek(session.length() * 0.5);
  const Headless head(1280, 720);
  const auto tooltip = [&](const Target& target) {
    session.hovered = target;
    Input input;
    input.mouse = {100, 100};
    return draw_alone(head, session, input,
                      [&](Context& context) { draw_tooltip(context, head.area()); });
  };
  int buffers = 0;
  for (const replay::Buffer& buffer : session.world(0).ranks[2].buffers) {
    const event::Allocate& told = *buffer.info->allocate;
    const Sheet sheet = tooltip(of_buffer(buffer, 0));
    CHECK(sheet.says(told.name + ", GPU 2"));
    CHECK(sheet.says(fmt::format("{}, {}", format_bytes(told.bytes), zero::to_string(told.dtype))));
    ++buffers;
  }
  CHECK(buffers > 5);
  const RankState& state = session.world(0).ranks[1];
  CHECK(tooltip({Target::Kind::rank, 0, 1}).says(format_bytes(state.total.live) + " now"));
  Target moment{Target::Kind::moment, 0, 1};
  moment.event = *state.peak;
  CHECK(tooltip(moment).says(format_bytes(state.total.peak)));
}

TEST_CASE("Contents are put in words, of one rank, of some and of all") {
  replay::Content content{Kind::partial_sum, false, false, RankSet(1)};
  CHECK(content_text(content, 4) == "sum of rank 1");
  content.contributors.insert(3);
  CHECK(content_text(content, 4) == "sum of ranks 1, 3");
  content.contributors.insert(0);
  content.contributors.insert(2);
  CHECK(content_text(content, 4) == "sum of all 4 ranks");
  content.kind = Kind::reduced;
  CHECK(content_text(content, 4) == "average of all 4 ranks");
  CHECK(content_text(replay::Content(), 4) == "nothing written");
  CHECK(range_text({0, 4096}) == "[0, 4,096)");
  CHECK(names_at({{"a", {0, 4}}, {"b", {4, 9}}, {"c", {9, 12}}}, {3, 5}) == "a, b");
  CHECK(names_at({{"a", {0, 4}}, {"b", {4, 9}}, {"c", {9, 12}}}, {0, 12}) == "a \u2013 c (3)");
  CHECK(names_at({{"a", {0, 4}}}, {4, 5}) == "");
}

// ---- heat ----

TEST_CASE("A heat colour is brighter the larger the value, and 0 and NaN have their own") {
  CHECK(root_mean_square(std::vector<double>{3, 4, 0, 0}) == Approx(2.5));
  CHECK(root_mean_square(std::vector<double>{-1e200, 1e200}) == Approx(1e200));
  CHECK(root_mean_square({}) == 0);
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK_FALSE(std::isfinite(root_mean_square(std::vector<double>{1, infinity})));
  const auto brightness = [](Colour c) {
    return 0.2126 * (c & 0xff) + 0.7152 * (c >> 8 & 0xff) + 0.0722 * (c >> 16 & 0xff);
  };
  for (const Theme& theme : {Theme::light(), Theme::dark_()}) {
    double before = -1;
    for (double size = kHeatLeast; size < kHeatMost * 1.5; size *= 2) {
      CHECK(brightness(heat_colour(size, theme)) > before);
      before = brightness(heat_colour(size, theme));
      CHECK(heat_colour(size, theme) != heat_colour(0, theme));
    }
    CHECK(heat_colour(1e-30, theme) == heat_colour(kHeatLeast, theme));
    CHECK(heat_colour(1e30, theme) == heat_colour(kHeatMost, theme));
    CHECK(heat_colour(infinity, theme) == theme.warning);
    CHECK(heat_colour(std::nan(""), theme) == theme.warning);
  }
}

TEST_CASE("A cell's heat is of the sample of the event that wrote it") {
  TemporaryFolder folder;
  run_collectives(folder / "run", Algorithm::ring, 3, 10);
  const auto run = Run::open(folder / "run");
  const Theme theme = Theme::light();
  int cells = 0;
  const World world = run->at(run->size());
  for (const RankState& rank : world.ranks) {
    for (const replay::Buffer& buffer : rank.buffers) {
      for (const Cell& cell : buffer.cells().all()) {
        const auto heat = heat_of(*run, cell, theme);
        if (cell.content.kind == Kind::nothing) {
          CHECK_FALSE(heat);
          continue;
        }
        const std::string where = run->where(cell.event);
        const std::size_t colon = where.rfind(':');
        const json line = lines_of(where.substr(0, colon))[std::stoul(where.substr(colon + 1)) - 1];
        double squares = 0;
        for (const double value : line["values"]) squares += value * value;
        const double size = std::sqrt(squares / static_cast<double>(line["values"].size()));
        REQUIRE(heat);
        CHECK(*heat == heat_colour(size, theme));
        ++cells;
      }
    }
  }
  CHECK(cells > 10);
  change_lines(folder / "run", [](json& line) { line.erase("values"); });
  const auto plain = Run::open(folder / "run");
  const World after = plain->at(plain->size());
  for (const replay::Buffer& buffer : after.ranks[0].buffers) {
    for (const Cell& cell : buffer.cells().all()) CHECK_FALSE(heat_of(*plain, cell, theme));
  }
}

TEST_CASE("The heat legend is within its box, or is left out") {
  TemporaryFolder folder;
  run_collectives(folder / "run", Algorithm::ring, 2, 4);
  Session session({Run::open(folder / "run")});
  const Headless head(700, 60);
  for (const float width : {10.0f, 120.0f, 200.0f, 320.0f, 600.0f}) {
    const Rect area = Rect::of_size(20, 10, width, 20);
    const Sheet sheet =
        draw_alone(head, session, {}, [&](Context& context) { draw_heat_legend(context, area); });
    CHECK(misplaced(sheet, area) == "");
    CHECK(sheet.says("zero") == (width >= 200));
    CHECK(sheet.says("not finite") == (width > 300));
  }
}

}  // namespace zero::view
