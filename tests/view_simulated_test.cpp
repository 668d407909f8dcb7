// Runs of the simulated cluster in the views: a few ranks are traced, and collectives of large runs
// are told in closed form.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "catch.h"
#include "tests/replay_runs.h"
#include "tests/support/stage.h"
#include "tests/view_sheet.h"
#include "visualizer/replay/loading.h"
#include "visualizer/view/stage_layout.h"
#include "visualizer/view/story_waiting.h"

namespace zero::view {
namespace {

using replay::Order;
using replay::Run;

constexpr int kMany = 24;  // ranks: of these 0, 1 and 23 are traced
constexpr const char* kLeftOut = "3 of 24 GPUs are traced";

void trace_simulated(const std::string& stage, int ranks, const std::string& folder,
                     std::vector<std::string> more = {}) {
  Work work;
  work.ranks = ranks;
  work.batch = ranks;
  work.iterations = 2;
  work.more = {"--device", "simulated", "--trace", folder};
  work.more.insert(work.more.end(), more.begin(), more.end());
  run_stage(stage, work);
}

// In closed form, of many ranks.
class Large {
 public:
  explicit Large(const std::string& stage, int ranks = kMany) {
    trace_simulated(stage, ranks, folder_.path(), {"--messages", "closed-form"});
  }
  std::string folder() const { return folder_.path(); }
  Session session() const { return Session({Run::open(folder_.path())}); }

 private:
  TemporaryFolder folder_;
};

int count(const Headless& headless, const std::string& text) {
  const auto& labels = headless.labels();
  return static_cast<int>(std::count_if(labels.begin(), labels.end(),
                                        [&](const Label& label) { return label.text == text; }));
}

// Every label is whole, and within its box.
void check_labels(const Headless& headless) {
  for (const Label& label : headless.labels()) {
    INFO(label.text);
    CHECK(label.text.find("\u2026") == std::string::npos);
    CHECK(label.box.contains(label.ink, 2));
  }
}

void press(Session& session, char32_t character) {
  KeyPress press;
  press.character = character;
  CHECK(handle_key(session, press));
}

TEST_CASE("of a large simulated run the traced GPUs have columns, and one quiet line says so") {
  for (const std::string stage : {"zero1", "zero3"}) {
    const Large run(stage);
    Session session = run.session();
    const auto& lanes = session.derived<Lanes>();
    CHECK(session.run(0).notes().empty());
    CHECK(session.ranks() == std::vector<int>{0, 1, 23});
    CHECK(lanes.columns() == session.ranks());
    Headless headless(1280, 720);
    const Parts parts = parts_of(session, headless.area(), Content::picture);
    const StageLayout layout = lay_out_stages(lanes, parts.main, 20);
    REQUIRE(layout.panels.size() == 3);
    REQUIRE(layout.columns.size() == 3);
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(layout.panels[k].rank == session.ranks()[k]);
      CHECK(layout.columns[k].x0 == Approx(layout.panels[k].box.x0));
      CHECK(layout.columns[k].width() > 200);
    }
    for (int i = 0; i <= 20; ++i) {
      session.seek(session.length() * i / 20);
      headless.layout(session, Content::picture);
      INFO(stage << " at " << session.clock());
      check_labels(headless);
      CHECK(count(headless, kLeftOut) == 1);
      CHECK(count(headless, "GPU 23") >= 1);
      CHECK(count(headless, "GPU 2") == 0);
      CHECK(count(headless, "left no trace") == 0);
      CHECK_FALSE(anything_wrong(session));
      CHECK(session.world(0).in_flight.empty());
    }
    CHECK(waiting_text(session).empty());
  }
}

TEST_CASE("a rank that should have left a trace is still told from one that was not traced") {
  const Large run("zero2");
  std::filesystem::remove(run.folder() + "/rank1.jsonl");
  Session session = run.session();
  session.seek(session.length());
  CHECK(session.run(0).traced() == std::vector<int>{0, 1, 23});
  CHECK(anything_wrong(session));
  CHECK(waiting_text(session) == "GPU 1 left no trace");
}

TEST_CASE("what one of 1,024 GPUs holds is wide enough to be seen, and the legend says so") {
  const Large run("zero3", 1024);
  Session session = run.session();
  session.seek(session.length());
  Headless headless(1280, 720);
  headless.layout(session, Content::picture);
  check_labels(headless);
  CHECK(count(headless, "3 of 1,024 GPUs are traced") == 1);
  CHECK(count(headless, "widths below 4 pixels are drawn as 4") == 1);
  CHECK(count(headless, "GPU 1023") >= 1);
  const Rect main = parts_of(session, headless.area(), Content::picture).main;
  int shards = 0;
  for (const Mark& mark : headless.marks()) {
    if (mark.target.kind != Target::Kind::cell || !main.contains(mark.box, 1)) continue;
    const auto& buffer = *session.run(0).buffer(mark.target.rank, mark.target.buffer)->allocate;
    if (!buffer.range || buffer.category != Memory::optimizer_states) continue;
    CHECK(mark.box.width() > kLeastWidth - 0.6f);
    CHECK(mark.box.width() < kLeastWidth + 0.6f);
    ++shards;
  }
  CHECK(shards == 9);  // master, momentum and variance, on each of three
  // A run of few GPUs has its own scale.
  TemporaryFolder folder;
  trace_simulated("zero3", 5, folder.path());
  Session few({Run::open(folder.path())});
  headless.layout(few, Content::picture);
  CHECK(count(headless, "widths below 4 pixels are drawn as 4") == 0);
}

TEST_CASE("a collective in closed form is shown with the traced GPUs, and says what is not told") {
  for (const std::string stage : {"ddp", "zero1", "zero2", "zero3"}) {
    const Large run(stage);
    Session session = run.session();
    session.view = View::collective;
    Headless headless(1280, 720);
    bool joined = false;
    std::set<std::string> shown;
    for (const replay::Collective& collective : session.collectives(0)) {
      CHECK(collective.opaque);
      if (!shown.insert(collective.name + (collective.owner ? "!" : "")).second) continue;
      session.seek_position(0, collective.end);
      headless.layout(session, Content::picture);
      INFO(stage << ": " << collective.name);
      check_labels(headless);
      bool told = false;
      for (const Label& label : headless.labels()) {
        CHECK(label.text.find("library") == std::string::npos);
        told = told || label.text.ends_with("in closed form: no messages are told; 3 of 24 GPUs");
        joined = joined || label.text.ends_with("2 – 22");
      }
      CHECK(told);
    }
    // The shards of the others are one row; ZeRO-2 and ZeRO-3 work on a unit's few shards at a
    // time.
    if (stage == "zero1") CHECK(joined);
  }
}

TEST_CASE("the gathered shards of GPUs without a trace are one grey cell in a box") {
  const Large run("zero1");
  Session session = run.session();
  session.view = View::collective;
  const auto& all = session.collectives(0);
  const auto gather = std::find_if(
      all.begin(), all.end(),
      [](const replay::Collective& collective) { return collective.name == "all_gather"; });
  REQUIRE(gather != all.end());
  session.seek_position(0, gather->end);
  Headless headless(1280, 720);
  const Image image = headless.frame(session, Content::picture);
  const Rect main = parts_of(session, headless.area(), Content::picture).main;
  std::map<int, Rect> cells;  // of shards 2 to 22, by rank
  for (const Mark& mark : headless.marks()) {
    if (mark.target.kind != Target::Kind::cell || !main.contains(mark.box, 1)) continue;
    const auto& buffer = *session.run(0).buffer(mark.target.rank, mark.target.buffer)->allocate;
    const auto& shards = session.run(0).header().shards;
    const std::int64_t at = buffer.range->begin + mark.target.begin;
    if (at < shards[2].range.begin || at >= shards[23].range.begin) continue;
    const auto found = cells.try_emplace(mark.target.rank, mark.box).first;
    found->second.y1 = std::max(found->second.y1, mark.box.y1);
  }
  REQUIRE(cells.size() == 3);
  for (const auto& [rank, cell] : cells) {
    for (float y = cell.y0 + 4; y < cell.y1 - 4; y += 1) {
      const std::uint8_t* pixel =
          image.at(static_cast<int>(cell.center().x), static_cast<int>(std::round(y)));
      const Colour colour =
          pixel[0] | static_cast<Colour>(pixel[1]) << 8 | static_cast<Colour>(pixel[2]) << 16;
      REQUIRE(colour == (headless.theme().muted & 0xffffffu));
    }
  }
}

TEST_CASE("the GPU's own gradients are shown where a GPU without a trace gets the average") {
  const Large run("zero2");
  Session session = run.session();
  session.view = View::collective;
  Headless headless(1280, 720);
  int found = 0;
  for (const replay::Collective& collective : session.collectives(0)) {
    if (collective.name != "reduce" || session.run(0).is_traced(*collective.owner)) continue;
    session.seek_position(0, collective.begin);
    headless.layout(session, Content::picture);
    const Rect main = parts_of(session, headless.area(), Content::picture).main;
    std::set<int> ranks;
    for (const Mark& mark : headless.marks()) {
      if (mark.target.kind != Target::Kind::cell || !main.contains(mark.box, 1)) continue;
      ranks.insert(mark.target.rank);
    }
    CHECK(ranks == std::set<int>{0, 1, 23});
    const std::string owner = fmt::format("owner GPU {}, in closed form", *collective.owner);
    int said = 0;
    for (const Label& label : headless.labels()) said += label.text.starts_with(owner);
    CHECK(said == 1);
    if (++found == 3) break;
  }
  CHECK(found == 3);
}

TEST_CASE("a large run that is followed has ended when its traced ranks have") {
  const Large run("zero2");
  replay::Loading loading(run.folder(), Order::logical, true);
  for (int i = 0; i < 3000 && !loading.finished(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(loading.finished());
  CHECK_FALSE(loading.error());
  const auto loaded = loading.take();
  REQUIRE(loaded);
  CHECK(loaded->notes().empty());
}

TEST_CASE("keys step through the traced ranks, and a run without the rank shows one beside it") {
  const Large large("zero3");
  const TemporaryFolder small;
  trace_simulated("zero1", 3, small.path());
  Session session({Run::open(large.folder()), Run::open(small.path())});
  CHECK(session.ranks() == std::vector<int>{0, 1, 2, 23});
  for (const int rank : {1, 2, 23, 0}) {
    press(session, U']');
    CHECK(session.rank == rank);
  }
  press(session, U'[');
  CHECK(session.rank == 23);
  CHECK(session.rank_of(0) == 23);
  CHECK(session.rank_of(1) == 2);
  session.choose_rank(2);
  CHECK(session.rank_of(0) == 1);
  session.choose_rank(17);
  CHECK(session.rank == 2);
  Headless headless(1280, 720);
  const Parts parts = parts_of(session, headless.area(), Content::picture);
  const StageLayout layout = lay_out_stages(session.derived<Lanes>(), parts.main, 20);
  REQUIRE(layout.columns.size() == 4);
  REQUIRE(layout.panels.size() == 6);
  for (const Panel& panel : layout.panels) {
    const auto& ranks = session.ranks();
    const auto column = std::find(ranks.begin(), ranks.end(), panel.rank) - ranks.begin();
    CHECK(panel.box.x0 == Approx(layout.columns[static_cast<std::size_t>(column)].x0));
  }
  for (const View view : {View::stages, View::collective, View::memory}) {
    session.view = view;
    for (const double part : {0.0, 0.4, 0.8, 1.0}) {
      session.seek(session.length() * part);
      headless.layout(session, Content::window);
      for (const Label& label : headless.labels()) CHECK(label.box.contains(label.ink, 2));
    }
  }
  CHECK(count(headless, "zero3: GPU 2 is not traced") == 1);
  CHECK(count(headless, "0 B now") == 0);
  headless.layout(session, Content::picture);
  CHECK(count(headless, "zero3: GPU 1") == 1);
}

TEST_CASE("simulated ranks share one clock: each event is at its own time") {
  const Large large("zero2");
  const auto run = Run::open(large.folder(), Order::measured);
  CHECK(run->is_simulated());
  for (std::size_t e = 0; e < run->size(); ++e) CHECK(run->time(e) == run->event(e).t);
  // Message by message, too, with no note of anything that is missing.
  for (const char* ranks : {"all", "1,3"}) {
    const TemporaryFolder folder;
    trace_simulated("zero3", 5, folder.path(), {"--trace-ranks", ranks});
    const auto each = Run::open(folder.path(), Order::measured);
    CHECK(each->notes().empty());
    CHECK(each->at(each->size()).in_flight.empty());
    std::int64_t late = 0;
    for (std::size_t e = 0; e < each->size(); ++e) {
      late = std::max(late, each->time(e) - each->event(e).t);
    }
    CHECK(late <= 16);  // nanoseconds: a receive comes after its send
    Session session({each});
    session.seek(session.length() / 2);
    Headless headless(1280, 720);
    headless.layout(session, Content::window);
    CHECK(count(headless, "Simulated") == 1);
    CHECK(count(headless, "Measured") == 0);
  }
}

TEST_CASE("a rank without a trace cannot be chosen, and which can is told in one line") {
  const Large run("zero1");
  const std::filesystem::path programs =
      std::filesystem::path(stage_path("ddp")).parent_path().parent_path() / "visualizer";
  const TemporaryFolder folder;
  const auto show = [&](const char* rank) {
    RunOptions options;
    options.directory = folder.path();
    return zero::run({programs / "visualizer", run.folder(), "--export", "memory.png", "--view",
                      "memory", "--rank", rank},
                     options);
  };
  const Finished wrong = show("5");
  CHECK(wrong.status == 2);
  CHECK(wrong.err == "visualizer: --rank 5: it is not traced; of 24 ranks these are: 0, 1, 23\n");
  CHECK(folder.is_empty());
  const Finished right = show("23");
  CHECK(right.status == 0);
  CHECK(right.err.empty());
  const Finished steps = zero::run({programs / "replay", run.folder(), "--steps"}, {});
  CHECK(steps.status == 0);
  CHECK(steps.err.empty());
}

}  // namespace
}  // namespace zero::view
