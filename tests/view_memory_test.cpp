// Memory over time, against naive scans, the trackers' own numbers, and the picture's pixels.
#include <fmt/format.h>

#include <random>

#include "catch.h"
#include "common/memory/bytes.h"
#include "tests/view_sheet.h"
#include "visualizer/view/kept.h"
#include "visualizer/view/memory_layout.h"
#include "visualizer/view/words.h"

namespace zero::view {
namespace {

using namespace replay;

// By the definition, column by column and step by step.
std::vector<std::int64_t> naive_columns(const MemoryCurve& curve, double length, int width) {
  std::vector<std::int64_t> highest;
  const auto& steps = curve.steps();
  for (int c = 0; c < width; ++c) {
    const double begin = length * c / width, end = length * (c + 1) / width;
    std::int64_t most = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool begins_later = c + 1 < width ? steps[i].clock >= end : steps[i].clock > end;
      const bool over = i + 1 < steps.size() && steps[i + 1].clock < begin;
      // One that ends just where the column begins is no longer in force, unless it begins there.
      const bool ends_there = i + 1 < steps.size() && steps[i + 1].clock == begin;
      if (!begins_later && !over && !(ends_there && c > 0 && steps[i].clock < begin)) {
        most = std::max(most, steps[i].total);
      }
    }
    highest.push_back(most);
  }
  return highest;
}

void check_columns(const MemoryCurve& curve, double length) {
  for (const int width : {1, 7, 100, 5000}) {
    const auto& columns = curve.columns(width);
    REQUIRE(columns.size() == static_cast<std::size_t>(width));
    const auto naive = naive_columns(curve, length, width);
    std::int64_t most = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      // At the very beginning of a column, the step before it was still there an instant ago.
      if (columns[c]->total < naive[c]) FAIL("column " << c << " of " << width);
      most = std::max(most, columns[c]->total);
      const MemoryStep& step = *columns[c];
      const bool really = &step >= &curve.steps().front() && &step <= &curve.steps().back();
      REQUIRE(really);
      REQUIRE(step.total == sum_of(step.live));
      // It was in force in this column, or until just where it begins.
      REQUIRE(step.clock <= length * (c + 1.0) / width);
      const MemoryStep* next = &step == &curve.steps().back() ? nullptr : &step + 1;
      if (next) REQUIRE(next->clock >= length * static_cast<double>(c) / width);
    }
    CHECK(most == curve.peak().total);
  }
}

Colour colour_at(const Image& image, int x, int y) {
  const std::uint8_t* rgba = image.at(x, y);
  return rgb(static_cast<unsigned>(rgba[0] << 16 | rgba[1] << 8 | rgba[2]));
}

// A run of one rank that allocates and frees at random; now and then, for one event, very much.
std::shared_ptr<const Run> random_run(std::size_t events, unsigned seed) {
  std::mt19937 random(seed);
  RunLog log;
  log.ranks.resize(1);
  log.ranks[0].path = "rank0.jsonl";
  log.ranks[0].header.world_size = 1;
  std::vector<std::int64_t> alive;
  std::int64_t next = 1;
  bool spike = false;
  for (std::size_t i = 0; i < events; ++i) {
    TraceEvent event;
    event.line = static_cast<std::int64_t>(i) + 2;
    const bool allocate = !spike && (alive.empty() || random() % 2 == 0);
    if (allocate) {
      spike = random() % 500 == 0;
      event::Allocate what;
      what.buffer = next;
      what.category = static_cast<Memory>(random() % kMemoryCategories);
      what.bytes = what.size = 1 + random() % 1000 + (spike ? 1000000 + random() % 1000000 : 0);
      alive.push_back(next++);
      event.what = what;
    } else {
      const std::size_t at = spike ? alive.size() - 1 : random() % alive.size();
      event.what = event::Free{alive[at]};
      alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
      spike = false;
    }
    log.ranks[0].events.push_back(std::move(event));
  }
  return Run::from(std::move(log));
}

// The category whose colour is nearest to a pixel's.
Memory nearest(const Theme& theme, const std::uint8_t* pixel) {
  Memory best = Memory::parameters;
  int least = INT_MAX;
  for (int c = 0; c < kMemoryCategories; ++c) {
    int distance = 0;
    for (int i = 0; i < 3; ++i) {
      const int part = static_cast<int>(theme.categories[c].fill >> (8 * i) & 0xff) - pixel[i];
      distance += part * part;
    }
    if (distance < least) best = static_cast<Memory>(c);
    least = std::min(least, distance);
  }
  return best;
}

struct Runs {
  TemporaryFolder folder;
  std::vector<std::shared_ptr<const Run>> all;

  void add(const std::string& stage, int ranks, const std::vector<std::string>& more = {}) {
    const std::string directory = folder / (stage + std::to_string(all.size()));
    trace_stage(stage, ranks, directory, more);
    all.push_back(Run::open(directory));
  }
  void add_all(int ranks) {
    for (const std::string& stage : kStages) add(stage, ranks);
  }
};

}  // namespace

TEST_CASE("The curve of many random events never loses a peak, however few columns it has") {
  for (const unsigned seed : {1u, 2u, 3u}) {
    const auto run = random_run(20000, seed);
    const Alignment alignment({run});
    const MemoryCurve curve(*run, 0, alignment, 0);
    REQUIRE(curve.steps().size() == 20001);
    std::int64_t most = 0;
    for (const MemoryPoint& point : run->memory(0)) most = std::max(most, sum_of(point.live));
    CHECK(curve.peak().total == most);
    CHECK(most > 1000000);
    check_columns(curve, alignment.length());
  }
}

TEST_CASE("A run of nothing has a curve of nothing") {
  const auto run = random_run(0, 1);
  const Alignment alignment({run});
  for (const int rank : {0, 5, -1}) {
    const MemoryCurve curve(*run, rank, alignment, 0);
    CHECK(curve.peak().total == 0);
    CHECK_FALSE(curve.peak().event);
    CHECK(curve.columns(10).size() == 10);
    CHECK(curve.at(3).total == 0);
  }
}

TEST_CASE("The curves of real runs have the peaks that the trackers counted") {
  Runs runs;
  runs.add_all(3);
  Session session(runs.all);
  for (int r = 0; r < session.size(); ++r) {
    const Run& run = session.run(r);
    for (int rank = 0; rank < 3; ++rank) {
      const MemoryCurve& curve = memory_curve(session, r, rank);
      check_columns(curve, session.length());
      int iterations = 0;
      for (EventIndex e = 0; e < run.size(); ++e) {
        const auto* told = std::get_if<event::Iteration>(&run.event(e).what);
        if (!told || run.rank_of(e) != rank) continue;
        ++iterations;
        const double clock = session.alignment().clock(static_cast<std::size_t>(r), e + 1);
        const MemoryStep& step = curve.at(clock);
        CHECK(step.total == told->total.live);
        std::int64_t peak = 0;
        for (const MemoryStep& s : curve.steps()) {
          if (!s.event || *s.event < e) peak = std::max(peak, s.total);
        }
        CHECK(peak == told->total.peak);
        for (std::size_t c = 0; c < kMemoryCategories; ++c) {
          CHECK(step.live[c] == told->memory[c].live);
        }
      }
      CHECK(iterations == 2);
      CHECK_FALSE(curve.budget());
    }
  }
}

TEST_CASE("At every moment the curve is what the world holds") {
  Runs runs;
  runs.add("zero3", 3);
  runs.add("zero1", 3);
  Session session(runs.all);
  for (double clock = 0; clock <= session.length(); clock += session.length() / 97) {
    session.seek(clock);
    for (int r = 0; r < 2; ++r) {
      for (int rank = 0; rank < 3; ++rank) {
        const auto& state = session.world(r).ranks[static_cast<std::size_t>(rank)];
        CHECK(memory_curve(session, r, rank).at(session.clock()).total == state.total.live);
      }
    }
  }
}

TEST_CASE("In every column the buffers fill exactly what is alive, stacked by age") {
  Runs runs;
  runs.add("zero3", 3);
  runs.all.push_back(random_run(3000, 7));
  Session session(runs.all);
  for (const auto& [run, rank] : {std::pair{0, 0}, {0, 2}, {1, 0}}) {
    const MemoryCurve& curve = memory_curve(session, run, rank);
    for (const int width : {1, 13, 300, 2000}) {
      const auto& columns = curve.columns(width);
      // By column and category: what is stacked, by where it begins.
      std::vector<std::map<std::pair<Memory, std::int64_t>, const MemoryBand*>> stacks(
          static_cast<std::size_t>(width));
      for (const MemoryBand& band : curve.bands(width)) {
        REQUIRE(band.first < band.last);
        REQUIRE(band.last <= width);
        for (int c = band.first; c < band.last; ++c) {
          const auto key = std::pair{band.category, band.below};
          REQUIRE(stacks[static_cast<std::size_t>(c)].emplace(key, &band).second);
        }
      }
      for (std::size_t c = 0; c < columns.size(); ++c) {
        LiveBytes live{};
        std::array<std::int64_t, kMemoryCategories> last{};
        for (const auto& [key, band] : stacks[c]) {
          const auto category = static_cast<std::size_t>(band->category);
          REQUIRE(band->below == live[category]);
          REQUIRE(band->buffer > last[category]);
          last[category] = band->buffer;
          live[category] += band->bytes;
        }
        REQUIRE(live == columns[c]->live);
      }
      // The world at a column's moment has just these buffers.
      const std::size_t c = columns.size() / 2;
      const World world = session.run(run).at(*columns[c]->event + 1);
      CHECK(world.ranks[static_cast<std::size_t>(rank)].buffers.size() == stacks[c].size());
    }
  }
}

TEST_CASE("Ticks are round, begin at 0 and are as many as have room") {
  CHECK(ticks(14 << 20, 8) == std::vector<std::int64_t>{0, 2 << 20, 4 << 20, 6 << 20, 8 << 20,
                                                        10 << 20, 12 << 20, 14 << 20});
  CHECK(ticks(1000, 3) == std::vector<std::int64_t>{0, 512});
  CHECK(ticks(0, 5) == std::vector<std::int64_t>{0});
  CHECK(ticks(5, 0) == std::vector<std::int64_t>{0});
  CHECK(ticks(INT64_MAX / 4, 2).size() <= 3);
  CHECK(tick_text(0) == "0");
  CHECK(tick_text(512) == "512 B");
  CHECK(tick_text(2048) == "2 KiB");
  CHECK(tick_text(std::int64_t{3} << 20) == "3 MiB");
  CHECK(tick_text(std::int64_t{1} << 40) == "1 TiB");
}

TEST_CASE("The parts of the memory view do not overlap and lie within it") {
  for (const Rect area : {Rect{0, 0, 860, 480}, Rect{10, 20, 400, 300}, Rect{0, 0, 100, 60},
                          Rect{5, 5, 1500, 900}, Rect{0, 0, 20, 10}}) {
    for (int runs = 1; runs <= 6; ++runs) {
      const MemoryParts parts = memory_parts(area, runs, 1 + runs % 3);
      std::vector<Rect> all = {parts.heading, parts.legend, parts.steps, parts.iterations};
      for (const auto& band : parts.bands) {
        all.insert(all.end(), {band.title, band.scale, band.plot});
        CHECK(band.plot.width() == parts.bands[0].plot.width());
        CHECK(band.plot.height() == parts.bands[0].plot.height());
        CHECK(band.plot.x0 == std::round(band.plot.x0));
      }
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].empty()) continue;
        CHECK(area.contains(all[i]));
        for (std::size_t j = 0; j < i; ++j) {
          if (!all[j].empty()) CHECK_FALSE(all[i].overlaps(all[j]));
        }
      }
    }
  }
  CHECK(memory_parts({0, 0, 860, 480}, 4).bands.size() == 4);
}

TEST_CASE("All words of the memory view are within their boxes and the view") {
  for (const int ranks : {1, 3, 5}) {
    Runs runs;
    runs.add_all(ranks);
    const std::vector<std::shared_ptr<const Run>> one = {runs.all[3]};
    for (const auto& shown : {one, runs.all}) {
      Session session(shown);
      session.seek(session.length() * 0.6);
      for (const auto& [width, height] :
           {std::pair{1280, 720}, {1920, 1080}, {800, 600}, {300, 200}, {90, 50}}) {
        const Headless head(width, height);
        for (const float x : {-1.0f, 200.0f, 77.0f}) {
          Input input;
          input.mouse = {x, static_cast<float>(height) * 0.6f};
          const Rect area = head.area().inset(8);
          const Sheet sheet = draw_alone(head, session, input,
                                         [&](Context& context) { draw_memory(context, area); });
          CHECK(misplaced(sheet, area) == "");
          for (const Mark& mark : sheet.marks) CHECK(area.contains(mark.box, 8));
          if (width >= 800) {
            CHECK(sheet.labels.size() > 10);
            for (std::size_t i = 0; i < sheet.labels.size(); ++i) {
              for (std::size_t j = 0; j < i; ++j) {
                INFO(sheet.labels[i].text << " | " << sheet.labels[j].text);
                CHECK_FALSE(sheet.labels[i].ink.overlaps(sheet.labels[j].ink, 1));
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("The memory view says each run's peak, and where it was") {
  Runs runs;
  runs.add_all(3);
  Session session(runs.all);
  session.rank = 2;
  session.seek(session.length());
  const Headless head(1600, 900);
  const Sheet sheet =
      draw_alone(head, session, {}, [&](Context& context) { draw_memory(context, head.area()); });
  for (int r = 0; r < 4; ++r) {
    const RankState& state = session.world(r).ranks[2];
    const auto& step = *step_of(session.run(r), *state.peak);
    std::string text = "peak " + with_commas(state.total.peak) + " B in " +
                       step.caption.substr(0, step.caption.find(':'));
    if (step.unit) text += ", " + *step.unit;
    CHECK(sheet.says(text));
    CHECK(sheet.says(with_commas(state.total.live) + " B now"));
    CHECK(sheet.says(session.name(r)));
  }
  CHECK(sheet.says("iteration 1"));
  CHECK(sheet.says("iteration 2"));
}

TEST_CASE("Each area of the memory view has the bytes and the colour of its category") {
  Runs runs;
  runs.add("zero2", 3);
  Session session(runs.all);
  session.seek(0);
  const Headless head(1400, 900);
  const Rect area = head.area();
  const Sheet sheet =
      draw_alone(head, session, {}, [&](Context& context) { draw_memory(context, area); });
  const Rect plot = memory_parts(area, 1).bands[0].plot;
  const MemoryCurve& curve = memory_curve(session, 0, 0);
  const auto& columns = curve.columns(static_cast<int>(plot.width()));
  const double most = static_cast<double>(curve.peak().total) * 1.06;
  const Memory stack[] = {Memory::parameters,    Memory::gradients, Memory::optimizer_states,
                          Memory::communication, Memory::workspace, Memory::activations,
                          Memory::temporary};
  int checked = 0;
  for (std::size_t c = 13; c < columns.size(); c += 41) {
    const int x = static_cast<int>(plot.x0) + static_cast<int>(c);
    std::int64_t below = 0;
    for (const Memory category : stack) {
      const std::int64_t bytes = columns[c]->live[static_cast<std::size_t>(category)];
      const auto y_of = [&](std::int64_t b) {
        return static_cast<int>(
            std::lround(plot.y1 - static_cast<double>(b) / most * plot.height()));
      };
      const int bottom = y_of(below), top = y_of(below + bytes);
      below += bytes;
      if (bottom - top < 12) continue;
      // Most pixels are nearest to the category's own colour: lines, dots and the grid, which
      // lie over it, are faint.
      int own = 0;
      for (int y = top; y < bottom; ++y)
        own += nearest(head.theme(), sheet.image.at(x, y)) == category;
      INFO("column " << c << " " << to_string(category));
      CHECK(own * 4 >= (bottom - top) * 3);
      ++checked;
    }
    // Above the highest there is nothing of any category.
    const std::uint8_t* above = sheet.image.at(
        x, static_cast<int>(plot.y1 - static_cast<double>(below) / most * plot.height()) - 4);
    for (const Style& style : head.theme().categories) {
      CHECK((static_cast<Colour>(above[2]) << 16 | static_cast<Colour>(above[1]) << 8 | above[0]) !=
            (style.fill & 0xffffffu));
    }
  }
  CHECK(checked > 60);
}

TEST_CASE("A click on the memory view goes to the highest moment under the pointer") {
  Runs runs;
  runs.add("zero3", 3);
  runs.add("ddp", 3);
  Session session(runs.all);
  session.view = View::memory;
  Headless head(1280, 720);
  const Rect main = parts_of(session, head.area(), Content::window).main;
  session.seek(session.length());
  head.layout(session);
  std::vector<Rect> plots;
  for (const Mark& mark : head.marks()) {
    if (mark.target.kind == Target::Kind::moment && mark.box.width() > 400) {
      plots.push_back(mark.box);
    }
  }
  REQUIRE(plots.size() == 2);
  REQUIRE(main.contains(plots[0]));
  for (const int r : {0, 1}) {
    const Rect plot = plots[static_cast<std::size_t>(r)];
    for (const float part : {0.2f, 0.55f, 0.9f}) {
      Input input;
      input.mouse = {plot.x0 + std::floor(plot.width() * part) + 0.5f, plot.y1 - 0.5f};
      input.pressed = input.down = true;
      head.layout(session, Content::window, input);
      const auto& columns =
          memory_curve(session, r, session.rank).columns(static_cast<int>(plot.width()));
      const auto column = static_cast<std::size_t>(input.mouse.x - plot.x0);
      REQUIRE(session.selected.kind == Target::Kind::moment);
      CHECK(session.selected.run == r);
      CHECK(session.selected.event == *columns[column]->event);
      CHECK(session.selected.begin == static_cast<std::int64_t>(Memory::parameters));
      const RankState& state = session.world(r).ranks[0];
      CHECK(state.total.live == columns[column]->total);
      const auto* pointed = state.buffer(session.selected.buffer);
      REQUIRE(pointed);
      CHECK(pointed->info->allocate->category == Memory::parameters);
    }
    session.selected = {};
  }
}

TEST_CASE("The peak marker goes to the peak, and the inspect view lists what was alive there") {
  Runs runs;
  runs.add("zero2", 3);
  Session session(runs.all);
  session.view = View::memory;
  session.seek(0);
  Headless head(1280, 720);
  head.layout(session);
  const MemoryStep& peak = memory_curve(session, 0, 0).peak();
  const Mark* marker = nullptr;
  for (const Mark& mark : head.marks()) {
    const bool here = mark.target.kind == Target::Kind::moment && mark.box.width() < 20;
    if (here) marker = &mark;
  }
  REQUIRE(marker);
  CHECK(marker->target.event == *peak.event);
  Input input;
  input.mouse = marker->box.center();
  input.pressed = true;
  head.layout(session, Content::window, input);
  CHECK(session.world(0).ranks[0].total.live == peak.total);
  CHECK(session.world(0).position == *peak.event + 1);
  head.layout(session);
  Sheet sheet{head.marks(), head.labels(), {}};
  CHECK(sheet.says(format_bytes(peak.total)));
  CHECK(sheet.says(fmt::format("{} buffers alive", session.world(0).ranks[0].buffers.size())));
}

TEST_CASE("The chips of the memory view choose the rank") {
  Runs runs;
  runs.add("zero1", 5);
  Session session(runs.all);
  session.view = View::memory;
  Headless head(1280, 720);
  head.layout(session);
  for (const int rank : {3, 0, 4}) {
    Input input;
    for (const Mark& mark : head.marks()) {
      const bool chip = mark.target.kind == Target::Kind::control && mark.target.rank == rank;
      if (chip && mark.box.height() < 30) input.mouse = mark.box.center();
    }
    input.pressed = true;
    head.layout(session, Content::window, input);
    CHECK(session.rank == rank);
    CHECK_FALSE(session.selected);
    head.layout(session);
    Sheet sheet{head.marks(), head.labels(), {}};
    CHECK(sheet.says(fmt::format("Memory of GPU {} over time", rank)));
  }
}

TEST_CASE("A budget is drawn where it has room, and said otherwise") {
  for (const auto& [budget, text] : {std::pair<std::string, std::string>{"1GiB", "budget 1.00 GiB"},
                                     {"600KiB", "budget 614,400 B"}}) {
    Runs runs;
    runs.add("zero2", 3, {"--memory-budget", budget});
    Session session(runs.all);
    const Headless head(1280, 720);
    const Sheet sheet =
        draw_alone(head, session, {}, [&](Context& context) { draw_memory(context, head.area()); });
    CHECK(sheet.says(text));
  }
}

TEST_CASE("The playhead goes by behind what is said of the budget") {
  Runs runs;
  runs.add("zero2", 3, {"--memory-budget", "600KiB"});
  Session session(runs.all);
  const Headless head(1280, 720);
  int crossed = 0;
  for (int i = 60; i <= 100; ++i) {
    session.seek(session.length() * i / 100);
    const Sheet sheet =
        draw_alone(head, session, {}, [&](Context& context) { draw_memory(context, head.area()); });
    for (const Label& label : sheet.labels) {
      if (label.text != "budget 614,400 B") continue;
      const auto y = static_cast<int>(label.ink.y0);
      bool above = false;
      for (int x = static_cast<int>(label.ink.x0); x < static_cast<int>(label.ink.x1); ++x) {
        above = above || colour_at(sheet.image, x, y - 4) == head.theme().accent;
        for (int line = y; line < static_cast<int>(label.ink.y1); ++line) {
          CHECK(colour_at(sheet.image, x, line) != head.theme().accent);
        }
      }
      crossed += above;
    }
  }
  CHECK(crossed > 0);
}

}  // namespace zero::view
