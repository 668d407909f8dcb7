// The stage view and the bytes view: their geometry against the traces, their pixels against the
// colours, their numbers against the formulas.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <tuple>

#include "catch.h"
#include "common/memory/bytes.h"
#include "tests/replay_runs.h"
#include "tests/support/stage.h"
#include "visualizer/export/headless.h"
#include "visualizer/view/bytes_facts.h"
#include "visualizer/view/heat.h"
#include "visualizer/view/stage_layout.h"
#include "visualizer/view/stage_words.h"

namespace zero::view {
namespace {

using replay::Run;

struct Size {
  int width, height;
};
constexpr Size kSizes[] = {{1280, 720}, {1920, 1080}, {800, 600}, {640, 480}};

// The runs of some stages, each traced with K ranks.
class Runs {
 public:
  Runs(const std::vector<std::string>& stages, int K, std::vector<std::string> more = {}) {
    for (const std::string& stage : stages) {
      folders_.push_back(std::make_unique<TemporaryFolder>());
      Work work;
      work.ranks = K;
      work.iterations = 2;
      work.more = more;
      work.more.insert(work.more.end(), {"--trace", folders_.back()->path()});
      run_stage(stage, work);
    }
  }
  std::string folder(std::size_t i) const { return folders_[i]->path(); }
  Session session() const {
    std::vector<std::shared_ptr<const Run>> runs;
    for (const auto& folder : folders_) runs.push_back(Run::open(folder->path()));
    return Session(std::move(runs));
  }

 private:
  std::vector<std::unique_ptr<TemporaryFolder>> folders_;
};

const replay::RankState& state_of(const Session& session, const Target& target) {
  return session.world(target.run).ranks[static_cast<std::size_t>(target.rank)];
}

// A part of a colour's way from one to another that explains `pixel` in all channels; nothing when
// there is none.
std::optional<double> part_between(Colour from, Colour to, Colour pixel, int slack = 3) {
  double best = 0, most = 0;
  for (int shift = 0; shift < 24; shift += 8) {
    const double a = from >> shift & 255u, b = to >> shift & 255u, p = pixel >> shift & 255u;
    if (std::abs(b - a) <= std::abs(most)) continue;
    most = b - a;
    best = (p - a) / (b - a);
  }
  for (int shift = 0; shift < 24; shift += 8) {
    const double a = from >> shift & 255u, b = to >> shift & 255u, p = pixel >> shift & 255u;
    if (std::abs(a + best * (b - a) - p) > slack) return {};
  }
  return best;
}

Colour pixel_of(const Image& image, Point p) {
  const std::uint8_t* rgba = image.at(static_cast<int>(p.x), static_cast<int>(p.y));
  return rgba[0] | static_cast<Colour>(rgba[1]) << 8 | static_cast<Colour>(rgba[2]) << 16 |
         0xff000000u;
}

// Of all moments some, the ends included.
std::vector<double> moments(const Session& session, int n) {
  std::vector<double> all;
  for (int i = 0; i <= n; ++i) all.push_back(session.length() * i / n);
  return all;
}

// ---- geometry ----

void check_layout(const Lanes& lanes, Rect area) {
  const StageLayout layout = lay_out_stages(lanes, area, 20);
  std::vector<Rect> boxes = layout.columns;
  boxes.insert(boxes.end(), layout.rows.begin(), layout.rows.end());
  boxes.push_back(layout.legend);
  for (const Panel& panel : layout.panels) boxes.push_back(panel.box);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    INFO("box " << i << " of " << boxes.size());
    REQUIRE_FALSE(boxes[i].empty());
    REQUIRE(area.contains(boxes[i], 0.01f));
    for (std::size_t j = 0; j < i; ++j) REQUIRE_FALSE(boxes[i].overlaps(boxes[j], 0.01f));
  }
  for (const Panel& panel : layout.panels) {
    std::vector<Rect> parts = panel.lanes;
    for (const Rect& part :
         {panel.heading, panel.work, panel.names, panel.units, panel.shards, panel.loose}) {
      if (!part.empty()) parts.push_back(part);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      REQUIRE(panel.box.contains(parts[i], 0.01f));
      for (std::size_t j = 0; j < i; ++j) REQUIRE_FALSE(parts[i].overlaps(parts[j], 0.01f));
    }
    for (std::size_t i = 0; i < panel.lanes.size(); ++i) {
      const auto bytes = static_cast<float>(lanes.all()[i].bytes);
      REQUIRE(panel.lanes[i].height() == Approx(bytes * layout.per_byte).margin(0.01));
    }
  }
}

void check_labels(const Headless& headless, Rect within) {
  const auto& labels = headless.labels();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!within.contains(labels[i].ink.center())) continue;
    INFO(labels[i].text);
    CHECK(labels[i].box.contains(labels[i].ink, 2));
    CHECK(within.contains(labels[i].ink, 1));
    for (std::size_t j = 0; j < i; ++j) {
      INFO(labels[j].text);
      CHECK_FALSE(labels[i].ink.overlaps(labels[j].ink, 1));
    }
  }
}

// Every cell of every buffer that is alive, by its mark, where it should be.
void check_cells(Headless& headless, Session& session, Content content) {
  headless.layout(session, content);
  const Rect main = parts_of(session, headless.area(), content).main;
  const Lanes lanes(session);
  std::map<std::tuple<int, int, std::int64_t>, replay::SharedList<replay::Cell>::Iterator> next;
  double per_byte = 0;
  for (const Mark& mark : headless.marks()) {
    const Target& target = mark.target;
    if (target.kind != Target::Kind::cell || !main.contains(mark.box.center())) continue;
    const replay::Buffer* buffer = state_of(session, target).buffer(target.buffer);
    REQUIRE(buffer != nullptr);
    const event::Allocate& allocate = *buffer->info->allocate;
    const auto& cells = buffer->cells().all();
    auto& cell =
        next.try_emplace({target.run, target.rank, target.buffer}, cells.begin()).first->second;
    REQUIRE(cell != cells.end());
    REQUIRE(target.begin == cell->begin);
    REQUIRE(target.end == cell->end);
    ++cell;
    if (!allocate.range) continue;

    // The panel's own width stands for all positions: its bars begin and end where the mark of a
    // whole panel does, but for the inset, which is the same on both sides.
    Rect panel;
    for (const Mark& other : headless.marks()) {
      if (other.target.kind == Target::Kind::rank && other.target.run == target.run &&
          other.target.rank == target.rank && other.box.contains(mark.box, 0.5f)) {
        panel = other.box;
      }
    }
    REQUIRE_FALSE(panel.empty());
    const float inset = panel.width() > 60 ? 4 : panel.width() > 24 ? 2 : 1;
    const auto n = static_cast<double>(session.run(target.run).header().padded_parameters);
    const double width = panel.width() - 2 * inset;
    const auto x_of = [&](std::int64_t element) {
      return panel.x0 + inset + width * static_cast<double>(allocate.range->begin + element) / n;
    };
    REQUIRE(mark.box.x0 == Approx(x_of(target.begin)).margin(0.1));
    REQUIRE(mark.box.x1 == Approx(x_of(target.end)).margin(0.1));
    const double bytes =
        static_cast<double>((target.end - target.begin) * bytes_of(allocate.dtype));
    const double area = static_cast<double>(mark.box.width()) * mark.box.height() / bytes;
    if (mark.box.width() < 1) continue;  // too little of it to be told in a float
    if (per_byte == 0) per_byte = area;
    REQUIRE(area == Approx(per_byte).epsilon(0.01));
  }
  std::size_t buffers = 0;
  for (int r = 0; r < session.size(); ++r) {
    for (int k = 0; k < session.run(r).world_size(); ++k) {
      for (const replay::Buffer& buffer :
           session.world(r).ranks[static_cast<std::size_t>(k)].buffers) {
        INFO("run " << r << " rank " << k << ' ' << buffer.info->allocate->name);
        const auto found = next.find({r, k, buffer.number()});
        REQUIRE(found != next.end());
        REQUIRE(found->second == buffer.cells().all().end());
        ++buffers;
      }
    }
  }
  REQUIRE(next.size() == buffers);
}

TEST_CASE("the panels of all stages overlap nowhere, and their words stay in their boxes") {
  for (const int K : {1, 2, 4, 8}) {
    const Runs runs({"ddp", "zero1", "zero2", "zero3"}, K);
    for (const bool all : {true, false}) {
      std::vector<std::shared_ptr<const Run>> shown;
      for (std::size_t i = all ? 0 : 3; i < 4; ++i) shown.push_back(Run::open(runs.folder(i)));
      Session session(shown);
      for (const Size size : kSizes) {
        for (const Content content : {Content::picture, Content::window}) {
          INFO("K " << K << " runs " << session.size() << " size " << size.width);
          Headless headless(size.width, size.height);
          const Parts parts = parts_of(session, headless.area(), content);
          check_layout(session.derived<Lanes>(), parts.main);
          for (const double moment : moments(session, 3)) {
            session.seek(moment);
            headless.layout(session, content);
            check_labels(headless, parts.main);
            check_labels(headless, parts.side_top.empty() ? parts.side : Rect{});
          }
        }
      }
    }
  }
}

TEST_CASE("every cell has a mark at its positions whose area is its bytes") {
  for (const int K : {1, 3, 5, 8}) {
    const Runs runs({"ddp", "zero1", "zero2", "zero3"}, K);
    Session session = runs.session();
    Headless headless(1280, 720);
    for (const double moment : moments(session, 12)) {
      INFO("K " << K << " clock " << moment);
      session.seek(moment);
      check_cells(headless, session, Content::picture);
    }
  }
}

TEST_CASE("what is held and what is dashed partition a bar") {
  std::mt19937 random(3);
  const Rect bar{10, 20, 210, 36};
  for (int round = 0; round < 200; ++round) {
    std::vector<Rect> held;
    double area = 0;
    float x = bar.x0;
    for (int i = 0; i < 6; ++i) {
      x += static_cast<float>(random() % 3 * 7);
      const float width = static_cast<float>(1 + random() % 25);
      if (x + width > bar.x1) break;
      held.push_back({x, bar.y0, x + width, random() % 2 ? bar.y1 : bar.y0 + 8});
      area += held.back().width() * held.back().height();
      x += width;
    }
    std::shuffle(held.begin(), held.end(), random);
    std::vector<Rect> parts = rest_of(bar, held);
    for (const Rect& part : parts) area += part.width() * part.height();
    parts.insert(parts.end(), held.begin(), held.end());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      REQUIRE_FALSE(parts[i].empty());
      REQUIRE(bar.contains(parts[i]));
      for (std::size_t j = 0; j < i; ++j) REQUIRE_FALSE(parts[i].overlaps(parts[j]));
    }
    REQUIRE(area == Approx(bar.width() * bar.height()));
  }
}

TEST_CASE("runs whose buffers have other names share their bars") {
  const Runs runs({"ddp", "zero1", "zero2", "zero3"}, 3);
  const Session session = runs.session();
  const Lanes lanes(session);
  struct Expected {
    Memory category;
    std::int64_t bytes;
    std::vector<std::string> names;
  };
  const std::vector<Expected> expected = {
      {Memory::parameters, 2, {"params", "params", "params", "params_shard"}},
      {Memory::gradients, 2, {"grads", "grads", "grads_shard", "grads_shard"}},
      {Memory::optimizer_states, 4, {"master", "master", "master", "master"}},
      {Memory::optimizer_states, 4, {"exp_avg", "exp_avg", "exp_avg", "exp_avg"}},
      {Memory::optimizer_states, 4, {"exp_avg_sq", "exp_avg_sq", "exp_avg_sq", "exp_avg_sq"}},
      {Memory::temporary, 2, {"", "", "unit_grads", "unit_grads"}},
      {Memory::temporary, 2, {"", "", "", "unit_params"}}};
  REQUIRE(lanes.all().size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(lanes.all()[i].category == expected[i].category);
    CHECK(lanes.all()[i].bytes == expected[i].bytes);
    CHECK(lanes.all()[i].names == expected[i].names);
    CHECK(lanes.all()[i].passing == (expected[i].category == Memory::temporary));
  }
}

// ---- pixels ----

TEST_CASE("the middle of each cell has the colour of its category") {
  const Runs runs({"ddp", "zero3"}, 3);
  Session session = runs.session();
  for (const bool dark : {false, true}) {
    const Theme theme = dark ? Theme::dark_() : Theme::light();
    Headless headless(1920, 1080, theme);
    std::set<Memory> seen;
    for (const double moment : moments(session, 8)) {
      session.seek(moment);
      const Image image = headless.frame(session, Content::picture);
      const Rect main = parts_of(session, headless.area(), Content::picture).main;
      for (const Mark& mark : headless.marks()) {
        const Target& target = mark.target;
        if (target.kind != Target::Kind::cell || !main.contains(mark.box.center())) continue;
        if (mark.box.width() < 6 || mark.box.height() < 8) continue;
        const replay::Buffer& buffer = *state_of(session, target).buffer(target.buffer);
        const event::Allocate& allocate = *buffer.info->allocate;
        const Style& style = theme.category(allocate.category);
        // Above the stripes of who contributed.
        const Point at{mark.box.center().x, mark.box.y0 + mark.box.height() * 0.45f};
        const Colour pixel = pixel_of(image, at);
        const Colour marked = mixed(style.fill, style.ink, 0.22f);
        INFO(allocate.name << " at " << at.x << ", " << at.y << std::hex << " pixel " << pixel
                           << " fill " << style.fill);
        const replay::Kind kind = buffer.cells().at(target.begin).content.kind;
        const bool solid = !allocate.range
                               ? kind == replay::Kind::nothing
                               : kind == replay::Kind::initial || kind == replay::Kind::updated ||
                                     kind == replay::Kind::cast;
        if (solid) {
          const auto part = part_between(style.fill, marked, pixel);
          REQUIRE(part.has_value());
          CHECK(*part > -0.2);
          CHECK(*part < 1.9);  // where two lines of a pattern cross
          seen.insert(allocate.category);
        } else if (kind == replay::Kind::nothing || kind == replay::Kind::zero) {
          const auto part = part_between(theme.panel, style.fill, pixel);
          REQUIRE(part.has_value());
          CHECK(*part > 0.05);
          CHECK(*part < 0.5);
        }
      }
    }
    CHECK(seen == std::set<Memory>{Memory::parameters, Memory::optimizer_states,
                                   Memory::activations, Memory::communication, Memory::workspace});
  }
}

TEST_CASE("where another rank holds the parameters nothing is, and the owners have their colours") {
  constexpr int K = 3;
  const Runs runs({"ddp", "zero3"}, K);
  Session session = runs.session();
  session.seek(session.length());
  const Lanes lanes(session);
  for (const Colouring colouring : {Colouring::category, Colouring::storage, Colouring::compute}) {
    session.colouring = colouring;
    Headless headless(1280, 720);
    const Theme& theme = headless.theme();
    const Image image = headless.frame(session, Content::picture);
    for (int r = 0; r < 2; ++r) {
      for (int k = 0; k < K; ++k) {
        for (int owner = 0; owner < K; ++owner) {
          // In the middle of the owner's shard of the parameters, just below the bar's upper end.
          Rect panel;
          float top = 1e9f;
          for (const Mark& mark : headless.marks()) {
            if (mark.target.run != r || mark.target.rank != k) continue;
            if (mark.target.kind == Target::Kind::rank && panel.empty()) panel = mark.box;
            if (mark.target.kind == Target::Kind::cell) top = std::min(top, mark.box.y0);
          }
          const float x =
              panel.x0 + 4 + (panel.width() - 8) * (static_cast<float>(owner) + 0.45f) / float{K};
          const Colour pixel = pixel_of(image, {x, top + 5});
          INFO("run " << r << " rank " << k << " owner " << owner << std::hex << " is " << pixel);
          if (r == 1 && k != owner) {
            CHECK(pixel == theme.background);
          } else if (colouring == Colouring::category) {
            CHECK(part_between(theme.panel, theme.category(Memory::parameters).fill, pixel));
            CHECK(pixel != theme.panel);
          } else {
            const Colour who = theme.rank(colouring == Colouring::storage ? owner : k);
            const auto part = part_between(theme.panel, who, pixel);
            REQUIRE(part.has_value());
            CHECK(*part > 0.3);
          }
        }
      }
    }
  }
}

TEST_CASE("gradients have a stripe of who contributed, one colour until they are summed") {
  constexpr int K = 3;
  const Runs runs({"ddp"}, K);
  Session session = runs.session();
  Headless headless(1280, 720);
  std::map<replay::Kind, int> seen;
  for (const replay::Chapter& chapter : session.run(0).chapters()) {
    session.seek_position(0, chapter.end);
    const Image image = headless.frame(session, Content::plain);
    std::map<int, Rect> bars;  // by rank
    for (const Mark& mark : headless.marks()) {
      if (mark.target.kind != Target::Kind::cell) continue;
      const replay::Buffer& buffer = *state_of(session, mark.target).buffer(mark.target.buffer);
      if (buffer.info->allocate->category != Memory::gradients) continue;
      const auto [bar, first] = bars.try_emplace(mark.target.rank, mark.box);
      if (!first) bar->second.x1 = mark.box.x1;
      if (mark.target.end != buffer.cells().size()) continue;
      // Cells that hold the same are drawn as one, and share their stripes. Padding stays zero.
      const replay::Kind kind = buffer.cells().all().front().content.kind;
      bool same = true;
      for (const replay::Cell& cell : buffer.cells().all()) {
        same = same && (cell.content.kind == kind || cell.content.kind == replay::Kind::zero);
      }
      if (!same) continue;
      INFO("rank " << mark.target.rank << " holds " << to_string(kind));
      for (int k = 0; k < K; ++k) {
        const float part = (static_cast<float>(k) + 0.45f) / float{K};
        const Colour pixel =
            pixel_of(image, {bar->second.x0 + bar->second.width() * part, bar->second.y1 - 2});
        if (kind == replay::Kind::local_gradient) {
          CHECK(pixel == headless.theme().rank(mark.target.rank));
        } else if (kind == replay::Kind::reduced) {
          CHECK(pixel == headless.theme().rank(k));
        }
      }
      ++seen[kind];
    }
  }
  CHECK(seen[replay::Kind::local_gradient] > 0);
  CHECK(seen[replay::Kind::reduced] > 0);
}

TEST_CASE("a partial sum has the stripes of the ranks that are in it") {
  constexpr int K = 3;
  const TemporaryFolder folder;
  run_collectives(folder.path(), Algorithm::ring, K, 33);
  Session session({Run::open(folder.path())});
  Headless headless(1280, 720);
  std::set<int> sizes;
  for (std::size_t position = 0; position < session.run(0).size(); ++position) {
    session.seek_position(0, position);
    bool any = false;
    for (const replay::RankState& rank : session.world(0).ranks) any |= rank.collective.has_value();
    if (!any) continue;
    const Image image = headless.frame(session, Content::plain);
    for (const Mark& mark : headless.marks()) {
      if (mark.target.kind != Target::Kind::cell || mark.box.width() < 12) continue;
      const replay::Buffer& buffer = *state_of(session, mark.target).buffer(mark.target.buffer);
      const replay::Content& content = buffer.cells().at(mark.target.begin).content;
      const int n = content.contributors.size();
      if (content.kind != replay::Kind::partial_sum || n < 2) continue;
      // Neighbours that hold the same would share its stripes.
      const auto differs = [&](std::int64_t element) {
        return !buffer.cells().holds(element, 1) ||
               buffer.cells().at(element).content.kind != replay::Kind::partial_sum;
      };
      if (!differs(mark.target.begin - 1) || !differs(mark.target.end)) continue;
      for (int k = 0; k < K; ++k) {
        const float part = (static_cast<float>(k) + 0.45f) / float{K};
        const Colour pixel =
            pixel_of(image, {mark.box.x0 + mark.box.width() * part, mark.box.y1 - 2});
        INFO("position " << position << " buffer " << mark.target.buffer << " rank " << k);
        CHECK((pixel == headless.theme().rank(k)) == content.contributors.contains(k));
      }
      sizes.insert(n);
    }
  }
  CHECK(sizes.count(2) == 1);
}

TEST_CASE("the cell that is selected has an outline") {
  const Runs runs({"zero1"}, 3);
  Session session = runs.session();
  session.seek(session.length());
  Headless headless(1280, 720);
  headless.layout(session, Content::plain);
  int outlined = 0;
  for (const Mark& mark : std::vector<Mark>(headless.marks())) {
    if (mark.target.kind != Target::Kind::cell || mark.box.width() < 10) continue;
    session.selected = mark.target;
    const Image image = headless.frame(session, Content::plain);
    const Point edge{std::round(mark.box.x0) - 1, std::round(mark.box.center().y)};
    INFO("rank " << mark.target.rank << " buffer " << mark.target.buffer);
    CHECK(pixel_of(image, edge) == headless.theme().accent);
    if (++outlined == 12) break;
  }
  CHECK(outlined == 12);
}

TEST_CASE("GPUs that wait where their traces end are told from the one that broke off") {
  const Runs runs({"zero2"}, 3);
  // All are in the last collective, and GPU 1's trace breaks off in the one before it.
  std::vector<int> begun(3), all(3);
  const auto count = [](std::vector<int>& counts, const nlohmann::json& line, int rank) {
    return counts[static_cast<std::size_t>(rank)] += line["e"] == "collective";
  };
  int rank = -1;
  change_lines(runs.folder(0), [&](nlohmann::json& line) {
    if (line["e"] == "header") rank = line["rank"];
    count(all, line, rank);
  });
  change_lines(runs.folder(0), [&](nlohmann::json& line) {
    if (line["e"] == "header") rank = line["rank"];
    const int last = all[static_cast<std::size_t>(rank)] - (rank == 1 ? 1 : 0);
    if (begun[static_cast<std::size_t>(rank)] == last) line = nullptr;
    else count(begun, line, rank);
  });
  Session session = runs.session();
  session.seek(session.length());
  Headless headless(1280, 720);
  const auto said = [&](const std::string& words) {
    headless.layout(session, Content::picture);
    const Rect main = parts_of(session, headless.area(), Content::picture).main;
    check_labels(headless, main);
    int found = 0;
    for (const Label& label : headless.labels()) {
      found += main.contains(label.ink) && label.text == words;
    }
    return found;
  };
  CHECK(said("waits for GPU 0") + said("waits for GPU 1") + said("waits for GPU 2") == 2);
  CHECK(said("its trace ends in all_gather") + said("its trace ends in reduce") == 1);
  session.live = true;
  CHECK(said("so far") == 3);
}

// ---- numbers ----

TEST_CASE("measured bytes are the formula's in every stage, and what differs is told") {
  constexpr int K = 3;
  const Runs runs({"ddp", "zero1", "zero2", "zero3"}, K);
  Session session = runs.session();
  const BytesFacts facts(session);
  for (const double moment : moments(session, 20)) {
    session.seek(moment);
    for (int r = 0; r < session.size(); ++r) {
      Work work;
      work.ranks = K;
      const Expected expected(kStages[static_cast<std::size_t>(r)], work);
      REQUIRE(facts.claims(r).sent == expected.sent);
      for (int k = 0; k < K; ++k) {
        const BytesNow now = bytes_now(session, facts, r, k);
        const auto& state = session.world(r).ranks[static_cast<std::size_t>(k)];
        std::int64_t total = 0;
        for (const std::int64_t live : now.live) total += live;
        CHECK(total == state.total.live);
        CHECK(now.sent_verdict != Verdict::different);
        if (moment == 0) {
          CHECK(now.states_verdict == Verdict::unknown);
        } else {
          CHECK(now.states_verdict != Verdict::different);
        }
        if (moment == session.length()) {
          CHECK(now.states == expected.parameters + expected.gradients + expected.optimizer_states);
          CHECK(now.sent == expected.sent);
          CHECK(now.states_verdict == Verdict::equal);
          CHECK(now.sent_verdict == Verdict::equal);
        }
      }
    }
  }
  change_lines(runs.folder(2), [](nlohmann::json& line) {
    if (line["e"] == "header") line["closed_form"]["model_states"] = 1;
    if (line["e"] == "header") line["closed_form"]["sent_bytes_per_iteration"] = 2;
  });
  Session wrong = runs.session();
  wrong.seek(wrong.length());
  const BytesFacts told(wrong);
  CHECK(bytes_now(wrong, told, 2, 0).states_verdict == Verdict::different);
  CHECK(bytes_now(wrong, told, 2, 0).sent_verdict == Verdict::different);
  CHECK(bytes_now(wrong, told, 1, 0).states_verdict == Verdict::equal);
}

TEST_CASE("of several runs it is said how much of a whole iteration each has sent") {
  const Runs runs({"ddp", "zero1", "zero3"}, 3);
  Session session = runs.session();
  const BytesFacts facts(session);
  const double middle = session.length() * 0.8;
  for (const Size size : {Size{1280, 720}, Size{960, 540}, Size{640, 480}}) {
    session.seek(middle);
    Headless headless(size.width, size.height);
    headless.layout(session, Content::picture);
    const auto says = [&](const std::string& text) {
      const auto& all = headless.labels();
      return std::count_if(all.begin(), all.end(), [&](const Label& l) { return l.text == text; });
    };
    INFO(size.width << " x " << size.height);
    CHECK(says("Sent by GPU 0 in this iteration") == 1);
    CHECK(says("a whole iteration") == 1);
    CHECK(says("1.0 \u00d7") == 2);
    CHECK(says("1.5 \u00d7") == 1);
    for (int r = 0; r < session.size(); ++r) {
      const std::int64_t sent = bytes_now(session, facts, r, 0).sent;
      const std::int64_t whole = facts.claims(r).sent.value();
      REQUIRE(whole > 0);
      const std::string exact = with_commas(sent) + " of " + with_commas(whole) + " B";
      const std::string brief = short_bytes(sent) + " of " + short_bytes(whole);
      const auto percent = fmt::format(
          "{:.0f}% sent", 100.0 * static_cast<double>(sent) / static_cast<double>(whole));
      CHECK(says(exact) + says(brief) + says(percent) >= 1);
      if (size.width >= 1280) CHECK(says(exact) >= 1);
    }
  }
}

TEST_CASE("side by side the model states have most of a panel's height") {
  for (const int K : {3, 8}) {
    const Runs runs({"ddp", "zero1", "zero2", "zero3"}, K);
    Session session = runs.session();
    const auto& lanes = session.derived<Lanes>();
    for (const Size size : {Size{1280, 720}, Size{1920, 1080}, Size{960, 540}}) {
      const Headless headless(size.width, size.height);
      const Parts parts = parts_of(session, headless.area(), Content::picture);
      const StageLayout layout = lay_out_stages(lanes, parts.main, 20);
      for (const Panel& panel : layout.panels) {
        float states = 0, bars = 0;
        for (std::size_t i = 0; i < panel.lanes.size(); ++i) {
          bars += panel.lanes[i].height();
          if (!lanes.all()[i].passing) states += panel.lanes[i].height();
        }
        INFO("K " << K << " width " << size.width << " states " << states << " of "
                  << panel.box.height());
        CHECK(panel.loose.height() <= bars / 4 + 0.01f);
        CHECK(panel.loose.height() > 4);
        CHECK(states > 0.4f * panel.box.height());
      }
    }
  }
}

TEST_CASE("what no value was traced of is hatched, and it is said how values are traced") {
  const Runs without({"zero1"}, 3), with({"zero1"}, 3, {"--trace-values"});
  const std::string advice = "values were not traced: run with --trace-values";
  for (const bool traced : {false, true}) {
    Session session = (traced ? with : without).session();
    session.colouring = Colouring::values;
    session.seek(session.length());
    Headless headless(1280, 720);
    const Image image = headless.frame(session, Content::plain);
    const Theme& theme = headless.theme();
    std::set<std::string> said;
    for (const Label& label : headless.labels()) said.insert(label.text);
    CHECK(said.count(advice) == (traced ? 0 : 1));
    CHECK(said.count("zero") == (traced ? 1 : 0));  // of the scale
    CHECK(said.count("not traced") == 1);
    int plain = 0, lines = 0;
    for (const Mark& mark : headless.marks()) {
      const Rect& box = mark.box;
      if (mark.target.kind != Target::Kind::cell || box.width() < 12 || box.height() < 12) continue;
      for (float x = box.x0 + 2; x < box.x1 - 2; x += 1) {
        const Colour pixel = pixel_of(image, {x, std::round(box.center().y)});
        if (!traced) CHECK(pixel != heat_colour(0, theme));
        plain += pixel == theme.panel;
        lines += pixel != theme.panel;
      }
    }
    if (traced) continue;
    CHECK(lines > 0);
    CHECK(2 * plain > lines);  // hatched, not filled
  }
  // Of several runs the one that has none is named.
  Session both({Run::open(with.folder(0)), Run::open(without.folder(0))});
  both.colouring = Colouring::values;
  Headless headless(1920, 1080);
  headless.layout(both, Content::plain);
  int named = 0;
  for (const Label& label : headless.labels()) {
    named += label.text == both.name(1) + ": values were not traced";
  }
  CHECK(named == 1);
}

TEST_CASE("side by side a caption of several lines is not cut") {
  const Runs runs({"ddp", "zero1", "zero3"}, 3);
  Session session = runs.session();
  Headless headless(960, 540);
  const Rect caption = parts_of(session, headless.area(), Content::picture).caption;
  CHECK(caption.height() == 74);
  Session alone({Run::open(runs.folder(0))});
  CHECK(parts_of(alone, headless.area(), Content::picture).caption.height() == 58);
  int shown = 0;
  for (const double moment : moments(session, 40)) {
    session.seek(moment);
    if (session.chapter() < 0) continue;
    headless.layout(session, Content::picture);
    const std::string sentence = session.sentence(0, static_cast<std::size_t>(session.chapter()));
    std::string lines;
    for (const Label& label : headless.labels()) {
      if (!caption.contains(label.box) || label.ink.height() != 15) continue;
      if (sentence.find(label.text) != std::string::npos) lines += label.text + " ";
    }
    INFO(lines << "\nis not\n" << sentence);
    CHECK(lines.find(sentence) != std::string::npos);
    ++shown;
  }
  CHECK(shown > 30);
}

TEST_CASE("bytes in few words have three digits") {
  CHECK(short_bytes(0) == "0 B");
  CHECK(short_bytes(1023) == "1023 B");
  CHECK(short_bytes(1024) == "1.00 KiB");
  CHECK(short_bytes(10 * 1024) == "10.0 KiB");
  CHECK(short_bytes(1023 * 1024) == "1.00 MiB");
  CHECK(short_bytes(999 * 1024) == "999 KiB");
  CHECK(short_bytes(4735104) == "4.52 MiB");
  CHECK(short_bytes(std::int64_t{80} << 30) == "80.0 GiB");
  CHECK(short_change(-9039744) == "\u22128.62 MiB");
  CHECK(short_change(4) == "+4 B");
}

TEST_CASE("a trace whose ranges make no sense is drawn within its panels") {
  const Runs runs({"zero3"}, 3);
  int n = 0;
  change_lines(runs.folder(0), [&](nlohmann::json& line) {
    if (line["e"] != "allocate" || line["range"].is_null()) return;
    const std::int64_t size = line["size"];
    const std::int64_t begin = ++n % 3 == 0 ? 9000000000000 : n % 3 == 1 ? 12000 : 0;
    line["range"] = {begin, begin + size};
  });
  Session session = runs.session();
  Headless headless(1280, 720);
  for (const double moment : moments(session, 6)) {
    session.seek(moment);
    headless.layout(session, Content::picture);
    const Rect main = parts_of(session, headless.area(), Content::picture).main;
    for (const Mark& mark : headless.marks()) {
      if (mark.target.kind != Target::Kind::cell || !main.overlaps(mark.box)) continue;
      bool inside = false;
      for (const Mark& panel : headless.marks()) {
        inside |= panel.target.kind == Target::Kind::rank &&
                  panel.target.rank == mark.target.rank && panel.box.contains(mark.box, 0.5f);
      }
      CHECK(inside);
    }
  }
}

}  // namespace
}  // namespace zero::view
