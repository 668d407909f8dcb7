// The collective view: its geometry, and its pixels against what the replay says that ranks hold.
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <span>

#include "catch.h"
#include "tests/replay_runs.h"
#include "tests/view_sheet.h"
#include "visualizer/view/collective_layout.h"
#include "visualizer/view/collective_paint.h"

namespace zero::view {
namespace {

using nlohmann::json;
using replay::Collective;
using replay::Run;

// Every collective once; the header says which shards there are.
std::shared_ptr<const Run> run_of(const TemporaryFolder& folder, Algorithm algorithm, int K,
                                  std::int64_t N) {
  run_collectives(folder.path(), algorithm, K, N);
  const Partition partition(N, K);
  change_lines(folder.path(), [&](json& line) {
    if (line["e"] != "header") return;
    line["shards"] = json::array();
    for (int r = 0; r < K; ++r) {
      const Range shard = partition.shard(r);
      line["shards"].push_back({{"owner", r}, {"range", {shard.begin, shard.end}}});
    }
  });
  return Run::open(folder.path());
}

Colour pixel(const Image& image, Point p) {
  const std::uint8_t* at = image.at(static_cast<int>(p.x), static_cast<int>(p.y));
  return 0xff000000u | static_cast<Colour>(at[0]) | static_cast<Colour>(at[1]) << 8 |
         static_cast<Colour>(at[2]) << 16;
}

// ---- geometry -----------------------------------------------------------------------------------

struct Case {
  CollectiveShape shape;
  Rect area;
  std::string name;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int K : {1, 2, 3, 4, 5, 8, 16}) {
    for (const int rows : {1, K}) {
      for (const int kind : {0, 1, 2, 3, 4, 5}) {
        for (const auto& [width, height] : {std::pair(276, 190), {660, 400}, {1280, 560}}) {
          CollectiveShape shape;
          shape.ranks = K;
          shape.rows = rows;
          shape.sums = kind % 2 == 1;
          if (kind < 2 || kind > 3) shape.wraps = K > 2;
          if (kind == 2 || kind == 3) shape.lanes = K > 2 ? K - 1 : 0;
          shape.ring = kind > 3 && K > 1 && K <= 12;
          const Rect area =
              Rect::of_size(20, 30, static_cast<float>(width), static_cast<float>(height));
          all.push_back({shape, area,
                         std::to_string(K) + " ranks, " + std::to_string(rows) + " rows, kind " +
                             std::to_string(kind) + ", " + std::to_string(width)});
        }
      }
    }
  }
  return all;
}

// The hops that such a shape has: to the next rank, or, with lanes, to any other.
std::vector<std::pair<int, int>> hops_of(const CollectiveShape& shape) {
  std::vector<std::pair<int, int>> hops;
  for (int a = 0; a < shape.ranks; ++a) {
    for (int b = 0; b < shape.ranks; ++b) {
      const bool next = b == (a + 1) % shape.ranks;
      if (a != b && (shape.lanes > 0 || next)) hops.emplace_back(a, b);
    }
  }
  return hops;
}

TEST_CASE("no two of the boxes of a collective overlap, and all lie within its area") {
  for (const Case& c : cases()) {
    INFO(c.name);
    const CollectiveLayout layout(c.shape, c.area, 20, c.area.width() > 420 ? 70.0f : 0.0f);
    std::vector<Rect> boxes;
    for (int r = 0; r < c.shape.ranks; ++r) {
      boxes.push_back(layout.heading(r));
      for (int row = 0; row < c.shape.rows; ++row) {
        boxes.push_back(layout.cell(r, row));
        if (c.shape.sums) boxes.push_back(layout.slot(r, row));
        CHECK(layout.column(r).contains(layout.cell(r, row), 0.1f));
      }
    }
    for (int row = 0; row < c.shape.rows && !c.shape.ring; ++row) {
      const Rect label = layout.row_label(row);
      if (c.area.width() > 420) REQUIRE_FALSE(label.empty());
      if (!label.empty()) boxes.push_back(label);
    }
    int wrong = 0;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      wrong += boxes[i].empty() || !c.area.contains(boxes[i], 0.1f);
      for (std::size_t j = 0; j < i; ++j) wrong += boxes[i].overlaps(boxes[j], 0.1f);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a message leaves its source's cell whole, and arrives in its destination's") {
  for (const Case& c : cases()) {
    const CollectiveLayout layout(c.shape, c.area, 20, 0);
    for (const auto& [a, b] : hops_of(c.shape)) {
      for (int row = 0; row < c.shape.rows; ++row) {
        for (const bool slots : {false, true}) {
          if (slots && !c.shape.sums) continue;
          INFO(c.name << ": " << a << " to " << b << ", row " << row);
          const Rect from = layout.cell(a, row);
          const Rect to = slots ? layout.slot(b, row) : layout.cell(b, row);
          const Way way = layout.way(a, b, row, from, to);
          const auto same = [](const Rect& x, const Rect& y) {
            return x.contains(y, 0.01f) && y.contains(x, 0.01f);
          };
          REQUIRE(same(way.box(0), from));
          REQUIRE(same(way.box(1), to));
          // On its way it makes no jumps.
          Point before = way.at(0);
          float longest = 0;
          for (int i = 1; i <= 100; ++i) {
            const Point now = way.at(static_cast<float>(i) / 100);
            longest = std::max(longest, std::hypot(now.x - before.x, now.y - before.y));
            before = now;
          }
          REQUIRE(longest <= way.length() / 100 + 0.01f);
        }
      }
    }
  }
}

TEST_CASE("a message stays within the area, off the words, and off the cells of other rows") {
  for (const Case& c : cases()) {
    const bool labels = c.area.width() > 420;
    const CollectiveLayout layout(c.shape, c.area, 20, labels ? 70.0f : 0.0f);
    for (const auto& [a, b] : hops_of(c.shape)) {
      for (int row = 0; row < c.shape.rows; ++row) {
        INFO(c.name << ": " << a << " to " << b << ", row " << row);
        const Rect from = layout.cell(a, row);
        const Rect to = c.shape.sums ? layout.slot(b, row) : layout.cell(b, row);
        const Way way = layout.way(a, b, row, from, to);
        bool outside = false, on_words = false, on_others = false;
        for (int i = 0; i <= 50; ++i) {
          const Rect box = way.box(static_cast<float>(i) / 50);
          outside = outside || !c.area.contains(box, 1.0f);
          if (c.shape.ring) continue;  // there boxes are all around
          on_words = on_words || (labels && box.overlaps(layout.row_label(row), 1.0f));
          for (int r = 0; r < c.shape.ranks; ++r) {
            on_words = on_words || box.overlaps(layout.heading(r), 1.0f);
            for (int other = 0; other < c.shape.rows; ++other) {
              // Of its own row it covers only cells where it comes from, and where it goes.
              if (other == row && (r == a || r == b)) continue;
              on_others = on_others || box.overlaps(layout.cell(r, other), 1.0f);
              const bool slot = c.shape.sums && other != row;
              on_others = on_others || (slot && box.overlaps(layout.slot(r, other), 1.0f));
            }
          }
        }
        REQUIRE_FALSE(outside);
        REQUIRE_FALSE(on_words);
        REQUIRE_FALSE(on_others);
      }
    }
  }
}

TEST_CASE("messages of one row that go the same way at a time have lanes of their own") {
  CollectiveShape shape;
  shape.ranks = 5;
  shape.rows = 5;
  shape.sums = true;
  shape.lanes = 4;
  const CollectiveLayout layout(shape, Rect::of_size(0, 0, 1280, 600), 24, 70);
  for (int row = 0; row < 5; ++row) {
    for (int owner = 0; owner < 5; ++owner) {
      std::map<bool, std::set<float>> lanes;  // from the left, from the right: heights
      int right = 0;
      for (int r = 0; r < 5; ++r) {
        if (r == owner) continue;
        const Way way = layout.way(r, owner, row, layout.cell(r, row), layout.slot(owner, row));
        CHECK(way.points[1].y == way.points[2].y);
        CHECK(lanes[r < owner].insert(way.points[1].y).second);
        right += r < owner;
      }
      CHECK(lanes[true].size() == static_cast<std::size_t>(right));
      CHECK(lanes[false].size() == static_cast<std::size_t>(4 - right));
    }
  }
  // Between neighbours each row is a lane of its own, and the way back from the last is below all.
  shape.lanes = 0;
  shape.wraps = true;
  const CollectiveLayout ring(shape, Rect::of_size(0, 0, 1280, 600), 24, 70);
  for (int row = 0; row < 5; ++row) {
    const Way way = ring.way(1, 2, row, ring.slot(1, row), ring.slot(2, row));
    for (int i = 0; i <= 10; ++i) {
      CHECK(way.at(static_cast<float>(i) / 10).y == Approx(ring.slot(1, row).center().y));
    }
    const Way back = ring.way(4, 0, row, ring.slot(4, row), ring.slot(0, row));
    float lowest = 0;
    for (int i = 0; i <= 100; ++i)
      lowest = std::max(lowest, back.at(0.01f * static_cast<float>(i)).y);
    CHECK(lowest > ring.column(0).y1);
  }
}

// ---- pixels -------------------------------------------------------------------------------------

const replay::RankState& part_state(std::map<std::size_t, replay::World>& worlds, const Run& run,
                                    const Collective& collective, std::size_t position, int rank) {
  // A rank that has ended its part is shown as it was then.
  for (const replay::Part& part : collective.parts) {
    if (part.rank == rank && part.end) position = std::min(position, *part.end + 1);
  }
  auto found = worlds.find(position);
  if (found == worlds.end()) found = worlds.emplace(position, run.at(position)).first;
  return found->second.ranks[static_cast<std::size_t>(rank)];
}

struct Counted {
  int full = 0, faded = 0, empty = 0, cells = 0, messages = 0;
};

// Every stripe of a box: there is colour in it if, and only if, that rank's values are in there.
void check_stripes(const Image& image, Rect box, const replay::Content& content, int K, bool adds,
                   const Theme& theme, Counted& counted) {
  const Colour empty = mixed(theme.panel, theme.faint, 0.35f);
  if (!adds && content.contributors.size() == 1) {
    const Colour seen = pixel(image, box.center());
    REQUIRE(seen != empty);
    (seen == theme.rank(content.contributors.lowest()) ? counted.full : counted.faded) += 1;
    return;
  }
  const float each = box.width() / static_cast<float>(K);
  for (int r = 0; r < K; ++r) {
    const Colour seen =
        pixel(image, {box.x0 + (static_cast<float>(r) + 0.5f) * each, box.center().y});
    INFO("stripe " << r);
    if (!content.contributors.contains(r)) {
      REQUIRE((seen == empty || seen == theme.panel));
      ++counted.empty;
    } else {
      REQUIRE((seen != empty && seen != theme.panel));
      (seen == theme.rank(r) ? counted.full : counted.faded) += 1;
    }
  }
}

TEST_CASE("the stripes of every cell and message are its contributors, at every position") {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    const int K = 3;
    const TemporaryFolder folder;
    const auto run = run_of(folder, algorithm, K, 19);  // shards of 7, in chunks of 4 and 3
    Session session({run});
    const Headless head(900, 560);
    const Theme& theme = head.theme();
    std::map<std::size_t, replay::World> worlds;
    Counted counted;
    for (std::size_t position = session.collectives(0).front().begin; position <= run->size();
         ++position) {
      INFO(to_string(algorithm) << ", position " << position);
      session.seek_position(0, position);
      REQUIRE(session.world(0).position == position);
      const Collective& collective = *session.collective(0);
      const bool adds = collective.name != "all_gather" && collective.name != "broadcast";
      const Sheet sheet = draw_alone(
          head, session, {}, [&](Context& context) { draw_collective(context, head.area(), 0); });
      std::vector<Rect> above;  // what covers cells
      for (const Mark& mark : sheet.marks) {
        if (mark.target.kind == Target::Kind::transfer) above.push_back(mark.box.inset(-10));
      }
      std::map<int, std::int64_t> held;  // by rank: elements
      for (const Mark& mark : sheet.marks) {
        if (mark.target.kind != Target::Kind::cell) continue;
        const Target& t = mark.target;
        const replay::RankState& state = part_state(worlds, *run, collective, position, t.rank);
        const replay::Buffer* buffer = state.buffer(t.buffer);
        REQUIRE(buffer);
        REQUIRE(buffer->cells().holds(t.begin, t.end - t.begin));
        const replay::Content& content = buffer->cells().at(t.begin).content;
        for (const replay::Cell& cell : buffer->cells().slice(t.begin, t.end - t.begin)) {
          REQUIRE(cell.content == content);
        }
        if (buffer->info->allocate->range) held[t.rank] += t.end - t.begin;
        bool covered = false;
        for (const Rect& rect : above) covered = covered || rect.overlaps(mark.box);
        if (covered || content.kind == replay::Kind::nothing) continue;
        check_stripes(sheet.image, mark.box, content, K, adds, theme, counted);
        ++counted.cells;
      }
      // Every rank shows what it holds of the whole range, unless it is yet to come.
      for (int r = 0; r < K && position >= collective.begin; ++r)
        REQUIRE(held[r] == collective.range.size());
      for (const Mark& mark : sheet.marks) {
        if (mark.target.kind != Target::Kind::transfer) continue;
        bool below = false;  // of another message, which comes later
        for (const Mark& other : sheet.marks) {
          below = below || (&other > &mark && other.target.kind == Target::Kind::transfer &&
                            other.box.inset(-10).overlaps(mark.box));
        }
        if (below || mark.box.height() < 4) continue;
        const auto& flying = session.world(0).in_flight;
        const auto transfer = std::find_if(flying.begin(), flying.end(), [&](const auto& f) {
          return f.send == mark.target.event;
        });
        REQUIRE(transfer != flying.end());
        REQUIRE(transfer->content->size() == 1);
        check_stripes(sheet.image, mark.box, transfer->content->front().content, K, adds, theme,
                      counted);
        ++counted.messages;
      }
    }
    CHECK(counted.cells > 1000);
    CHECK(counted.messages > 30);
    CHECK(counted.full > 1000);
    CHECK(counted.faded > 100);
    CHECK(counted.empty > 1000);
  }
}

TEST_CASE("all messages under way are shown, at their progress, and nothing else is") {
  const TemporaryFolder folder;
  const auto run = run_of(folder, Algorithm::ring, 4, 16);
  Session session({run});
  const Headless head(900, 560);
  int seen = 0;
  for (const Collective& collective : session.collectives(0)) {
    for (int i = 0; i <= 40; ++i) {
      const double begin = session.alignment().clock(0, collective.begin);
      const double end = session.alignment().clock(0, collective.end);
      session.seek(begin + (end - begin) * i / 40);
      const Collective* shown = session.collective(0);
      std::set<std::size_t> expected, found;
      for (const replay::Transfer& transfer : session.world(0).in_flight) {
        if (run->hop(transfer.send)->collective == shown->number) expected.insert(transfer.send);
      }
      const Sheet sheet = draw_alone(
          head, session, {}, [&](Context& context) { draw_collective(context, head.area(), 0); });
      for (const Mark& mark : sheet.marks) {
        if (mark.target.kind != Target::Kind::transfer) continue;
        CHECK(found.insert(mark.target.event).second);
        CHECK(mark.target.rank == run->rank_of(mark.target.event));
      }
      CHECK(found == expected);
      seen += static_cast<int>(found.size());
    }
  }
  CHECK(seen > 100);
}

TEST_CASE("direct messages under way keep off each other and off every cell") {
  for (const int K : {2, 3, 5, 8}) {
    const TemporaryFolder folder;
    const auto run = run_of(folder, Algorithm::direct, K, 18 * K + 1);  // shards of 5 chunks
    Session session({run});
    for (const auto& [width, height] : {std::pair(860, 560), {1240, 620}}) {
      const Headless head(width, height);
      std::size_t most = 0;
      for (const Collective& collective : session.collectives(0)) {
        for (int i = 0; i <= 24; ++i) {
          const double begin = session.alignment().clock(0, collective.begin);
          const double end = session.alignment().clock(0, collective.end);
          session.seek(begin + (end - begin) * i / 24);
          const Sheet sheet = draw_alone(head, session, {}, [&](Context& context) {
            draw_collective(context, head.area(), 0);
          });
          INFO(K << " ranks, " << collective.name << " at " << i << ", " << width);
          std::vector<Rect> messages;
          int on_others = 0, on_cells = 0, small = 0;
          for (const Mark& mark : sheet.marks) {
            if (mark.target.kind != Target::Kind::transfer) continue;
            for (const Rect& other : messages) on_others += mark.box.overlaps(other, 0.5f);
            messages.push_back(mark.box);
            small += mark.box.width() < 3 || mark.box.height() < 2.5f;
          }
          for (const Mark& mark : sheet.marks) {
            if (mark.target.kind != Target::Kind::cell) continue;
            // Of two, where one message goes at a time, it slides from cell to cell.
            if (K == 2 && messages.size() == 1) continue;
            for (const Rect& message : messages) on_cells += mark.box.overlaps(message, 0.5f);
          }
          CHECK(on_others == 0);
          CHECK(on_cells == 0);
          CHECK(small == 0);
          most = std::max(most, messages.size());
        }
      }
      CHECK(most >= static_cast<std::size_t>(2 * K));
    }
  }
}

TEST_CASE("messages of one lane are one behind the other, each as far as it has come") {
  CollectiveShape shape;
  shape.ranks = 4;
  shape.rows = 4;
  shape.sums = true;
  shape.lanes = 3;
  shape.queue = 3;
  const CollectiveLayout layout(shape, Rect::of_size(0, 0, 1280, 600), 24, 70);
  for (const auto& [a, b] : hops_of(shape)) {
    const Rect from = layout.column(a), to = layout.column(b);
    const bool right = b > a;
    const float parts[] = {1, 1, 0.2f}, start[] = {0, 0, 0};
    const std::vector<Rect> waiting = layout.queue(a, b, 1, parts);
    const std::vector<Rect> starting = layout.queue(a, b, 1, start);
    REQUIRE(waiting.size() == 3);
    for (const auto& boxes : {waiting, starting}) {
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(boxes[i].x0 >= std::min(from.x1, to.x1) - 0.1f);
        CHECK(boxes[i].x1 <= std::max(from.x0, to.x0) + 0.1f);
        if (i == 0) continue;
        CHECK_FALSE(boxes[i].overlaps(boxes[i - 1]));
        CHECK((boxes[i].x0 < boxes[i - 1].x0) == right);
      }
    }
    // The first of those that wait is beside where it goes, the last of those that start beside
    // where it comes from: an arrow's head away, at most.
    const float ahead = right ? to.x0 - waiting[0].x1 : waiting[0].x0 - to.x1;
    CHECK(ahead >= 4);
    CHECK(ahead <= 9.1f);
    CHECK(std::abs(right ? starting[2].x0 - from.x1 : from.x0 - starting[2].x1) <= 0.1f);
    const std::vector<Rect> alone = layout.queue(a, b, 1, std::span(parts, 1));
    CHECK(alone[0] == waiting[0]);
  }
}

TEST_CASE("the header names all that is under way at once") {
  const TemporaryFolder folder;
  const auto run = run_of(folder, Algorithm::direct, 4, 65);
  Session session({run});
  const Headless head(900, 560);
  std::set<std::string> said;
  const Collective& all_reduce = session.collectives(0)[0];
  for (std::size_t position = all_reduce.begin; position <= all_reduce.end; ++position) {
    session.seek_position(0, position);
    const Sheet sheet = draw_alone(
        head, session, {}, [&](Context& context) { draw_collective(context, head.area(), 0); });
    std::set<int> steps;
    bool adds = false, copies = false;
    for (const replay::Transfer& transfer : session.world(0).in_flight) {
      const event::Hop& hop = *run->hop(transfer.send);
      if (hop.collective != all_reduce.number) continue;
      steps.insert(hop.step);
      (hop.effect == Effect::add ? adds : copies) = true;
    }
    if (steps.empty()) continue;
    const std::string expected = steps.size() == 1
                                     ? "step " + std::to_string(*steps.begin()) + " of 6"
                                     : "steps " + std::to_string(*steps.begin()) + " – " +
                                           std::to_string(*steps.rbegin()) + " of 6";
    bool found = false;
    for (const Label& label : sheet.labels) {
      if (label.text.find(expected) != 0) continue;
      found = true;
      INFO(label.text);
      CHECK((label.text.find("adds") != std::string::npos) == adds);
      CHECK((label.text.find("copies") != std::string::npos) == copies);
      said.insert(expected);
    }
    INFO(expected);
    CHECK(found);
  }
  CHECK(said.size() > 3);
}

TEST_CASE("a circle's boxes are as high as the area allows") {
  for (const int K : {2, 3, 4, 5, 8}) {
    for (const bool sums : {false, true}) {
      CollectiveShape shape;
      shape.ranks = shape.rows = K;
      shape.sums = sums;
      shape.ring = true;
      const CollectiveLayout layout(shape, Rect::of_size(0, 0, 840, 530), 26, 0);
      INFO(K << " ranks" << (sums ? ", with sums" : ""));
      CHECK(layout.cell(0, 0).height() >= (K == 8 ? 6 : K == 5 ? 14 : 20));
      CHECK(layout.cell(0, 0).width() >= 90);
      // An arrow ends at the edge of the box that it goes to.
      for (int r = 0; r < K; ++r) {
        const int next = (r + 1) % K;
        const Way way = layout.way(r, next, 0, layout.cell(r, 0), layout.cell(next, 0));
        const Point before = way.points[static_cast<std::size_t>(way.count - 2)];
        CHECK_FALSE(layout.column(next).contains(before));
      }
    }
  }
}

TEST_CASE("a collective that is over stays as it ended, though its buffers are gone") {
  const TemporaryFolder folder;
  const auto run = run_of(folder, Algorithm::ring, 3, 19);
  Session session({run});
  session.seek_position(0, run->size());
  const Collective& last = *session.collective(0);
  REQUIRE(last.name == "broadcast");
  const Headless head(900, 560);
  const Sheet sheet = draw_alone(
      head, session, {}, [&](Context& context) { draw_collective(context, head.area(), 0); });
  int cells = 0, gone = 0;
  for (const Mark& mark : sheet.marks) {
    if (mark.target.kind != Target::Kind::cell) continue;
    ++cells;
    const auto& state = session.world(0).ranks[static_cast<std::size_t>(mark.target.rank)];
    gone += state.buffer(mark.target.buffer) == nullptr;
    for (int r = 0; r < 3; ++r) {  // the average of all
      const float x = mark.box.x0 + mark.box.width() * (static_cast<float>(r) + 0.5f) / 3;
      CHECK(pixel(sheet.image, {x, mark.box.center().y}) == head.theme().rank(r));
    }
  }
  CHECK(cells == 3 * 2);  // ranks, chunks
  CHECK(gone == cells);   // "whole" has been released
}

// ---- words --------------------------------------------------------------------------------------

TEST_CASE("words stay in their boxes and off the cells, in every size") {
  for (const int K : {2, 3, 8}) {
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
      const TemporaryFolder folder;
      const auto run = run_of(folder, algorithm, K, 6 * K + 1);
      Session session({run});
      for (const auto& [width, height] :
           {std::pair(300, 250), {440, 330}, {690, 480}, {1300, 600}}) {
        const Headless head(width, height);
        for (const bool ring : {false, true}) {
          session.ring = ring;
          for (int i = 0; i <= 12; ++i) {
            session.seek(session.length() * i / 12);
            const Sheet sheet = draw_alone(head, session, {}, [&](Context& context) {
              draw_collective(context, head.area(), 0);
            });
            INFO(K << " ranks, " << width << " by " << height << ", " << i);
            CHECK(misplaced(sheet, head.area()) == "");
            CHECK(sheet.labels.size() >= static_cast<std::size_t>(K) + 2);
            int overlaps = 0;
            for (std::size_t a = 0; a < sheet.labels.size(); ++a) {
              const Rect ink = sheet.labels[a].ink;
              for (std::size_t b = 0; b < a; ++b) overlaps += ink.overlaps(sheet.labels[b].ink, 1);
              for (const Mark& mark : sheet.marks) {
                if (ring && mark.target.kind == Target::Kind::transfer) continue;
                overlaps += mark.box.overlaps(ink, 1);
              }
            }
            CHECK(overlaps == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("a collective says its name, its algorithm, its step and what a message does") {
  const TemporaryFolder folder;
  const auto run = run_of(folder, Algorithm::ring, 4, 16);
  Session session({run});
  const Headless head(900, 560);
  const Collective& reduce_scatter = session.collectives(0)[1];
  std::set<std::string> said;
  for (int i = 0; i <= 60; ++i) {
    const double begin = session.alignment().clock(0, reduce_scatter.begin);
    const double end = session.alignment().clock(0, reduce_scatter.end);
    session.seek(begin + (end - begin) * i / 60);
    const Sheet sheet = draw_alone(
        head, session, {}, [&](Context& context) { draw_collective(context, head.area(), 0); });
    for (const Label& label : sheet.labels) said.insert(label.text);
  }
  CHECK(said.count("Reduce-scatter, ring") == 1);
  CHECK(said.count("shard 3") == 1);
  for (const char* step : {"1", "2", "3"}) {
    CHECK(said.count("step " + std::string(step) + " of 3, adds, 16 B a message") == 1);
  }
  CHECK(said.count("done: 192 B sent in all") == 1);
}

TEST_CASE("a collective that breaks off is not done, and shows what the buffers hold") {
  for (const std::string name : {"all_reduce", "reduce_scatter", "all_gather"}) {
    for (const int begun : {1, 3}) {
      // So many ranks have begun it, and nothing has been sent.
      const TemporaryFolder folder;
      run_of(folder, Algorithm::ring, 3, 19);
      int rank = -1;
      bool over = false;
      change_lines(folder.path(), [&](json& line) {
        if (line["e"] == "header") {
          rank = line["rank"];
          over = false;
          return;
        }
        const bool here = line["e"] == "collective" && line["name"] == name;
        if (over || (here && rank >= begun)) {
          over = true;
          line = nullptr;
        }
        over = over || here;
      });
      Session session({Run::open(folder.path())});
      const Headless head(900, 560);
      const auto drawn = [&] {
        return draw_alone(head, session, {},
                          [&](Context& context) { draw_collective(context, head.area(), 0); });
      };
      session.seek(session.length());
      REQUIRE(session.collective(0)->name == name);
      INFO(name << " begun by " << begun);
      const Sheet sheet = drawn();
      const std::string words =
          begun == 3 ? "begins" : "begun by " + std::to_string(begun) + " of 3 GPUs";
      CHECK(sheet.says(words + ", not finished"));
      CHECK(sheet.says(name == "all_gather" ? "the values of a GPU" : "a GPU's own values"));
      std::set<int> ranks;
      for (const Mark& mark : sheet.marks) {
        if (mark.target.kind == Target::Kind::cell) ranks.insert(mark.target.rank);
      }
      CHECK(ranks == std::set<int>{0, 1, 2});
      session.live = true;
      CHECK(drawn().says(words + ", so far"));
    }
  }
}

TEST_CASE("one rank has nothing to send") {
  const TemporaryFolder folder;
  const auto run = run_of(folder, Algorithm::ring, 1, 7);
  Session session({run});
  const Headless head(600, 400);
  for (const double part : {0.0, 0.5, 1.0}) {
    session.seek(session.length() * part);
    const Sheet sheet = draw_alone(
        head, session, {}, [&](Context& context) { draw_collective(context, head.area(), 0); });
    CHECK(sheet.says("One GPU: nothing to send, nothing to receive."));
    CHECK(sheet.marks.empty());
  }
}

TEST_CASE("what is left of a damaged trace is drawn") {
  std::mt19937 random(3);
  int drawn = 0, messages = 0;
  for (int round = 0; round < 24; ++round) {
    const TemporaryFolder folder;
    run_of(folder, round % 2 == 0 ? Algorithm::ring : Algorithm::direct, 3, 19);
    change_lines(folder.path(), [&](json& line) {
      if (line["e"] == "header") return;
      const auto chance = random() % 100;
      if (chance < 3) line = nullptr;
      else if (chance < 6 && line.contains("buffer")) line["buffer"] = random() % 12;
      else if (chance < 9 && line.contains("destination")) line["destination"] = random() % 3;
      else if (chance < 12 && line.contains("at")) line["at"] = random() % 30;
    });
    Session session({Run::open(folder.path())});
    const Headless head(700, 480);
    for (int i = 0; i <= 30; ++i) {
      session.ring = i % 3 == 0;
      session.seek(session.length() * i / 30);
      const Sheet sheet = draw_alone(
          head, session, {}, [&](Context& context) { draw_collective(context, head.area(), 0); });
      CHECK(misplaced(sheet, head.area()) == "");
      for (const Mark& mark : sheet.marks) {
        messages += mark.target.kind == Target::Kind::transfer;
        drawn += mark.target.kind == Target::Kind::cell;
      }
    }
    for (const Collective& collective : session.collectives(0)) {
      const Sheet sheet = draw_alone(head, session, {}, [&](Context& context) {
        draw_collective_strip(context, head.area(), 0, collective);
      });
      CHECK(misplaced(sheet, head.area()) == "");
    }
  }
  CHECK(drawn > 1000);
  CHECK(messages > 100);
}

// ---- the strip ----------------------------------------------------------------------------------

TEST_CASE("a strip shows a ring's sums grow by one rank a step") {
  for (const int K : {3, 4}) {
    const TemporaryFolder folder;
    const auto run = run_of(folder, Algorithm::ring, K, 4 * K);
    Session session({run});
    const Collective& shown = session.collectives(0)[1];
    const Headless head(1280, 720);
    const Sheet sheet = draw_alone(head, session, {}, [&](Context& context) {
      draw_collective_strip(context, head.area(), 0, shown);
    });
    CHECK(misplaced(sheet, head.area()) == "");
    std::vector<Rect> titles;
    for (const Label& label : sheet.labels) {
      if (label.text == "before" || label.text == "after" || label.text.find("step") == 0) {
        titles.push_back(label.box);
      }
    }
    REQUIRE(titles.size() == static_cast<std::size_t>(K + 1));
    // Stripes in full colour, by picture: the widest of its sums.
    for (std::size_t i = 0; i < titles.size(); ++i) {
      int most = 0, widest = 0;
      for (const Mark& mark : sheet.marks) {
        if (mark.target.kind != Target::Kind::cell) continue;
        if (mark.box.x0 < titles[i].x0 || mark.box.x1 > titles[i].x1 ||
            mark.box.y0 < titles[i].y0 || mark.box.y0 > titles[i].y1 + 340) {
          continue;
        }
        int lit = 0;
        for (int r = 0; r < K; ++r) {
          const float x = mark.box.x0 +
                          mark.box.width() * (static_cast<float>(r) + 0.5f) / static_cast<float>(K);
          lit += pixel(sheet.image, {x, mark.box.center().y}) == head.theme().rank(r);
        }
        widest +=
            lit == static_cast<int>(std::min<std::size_t>(i + 1, static_cast<std::size_t>(K)));
        most = std::max(most, lit);
      }
      INFO("picture " << i);
      // Before: all alone. After step s: sums of s + 1 ranks, one on each rank.
      CHECK(most == static_cast<int>(std::min<std::size_t>(i + 1, static_cast<std::size_t>(K))));
      CHECK(widest == (i == 0 ? K * K : K));
    }
  }
}

TEST_CASE("a strip shows an owner's sum of direct messages grow by one rank a step") {
  const int K = 4;
  const TemporaryFolder folder;
  const auto run = run_of(folder, Algorithm::direct, K, 4 * K);
  Session session({run});
  const Headless head(1280, 720);
  const Sheet sheet = draw_alone(head, session, {}, [&](Context& context) {
    draw_collective_strip(context, head.area(), 0, session.collectives(0)[1]);
  });
  // GPU 3 adds in rank order and itself last: sums of 1, 2 and then all. A cell is one of scratch
  // when its buffer has no range.
  std::map<float, std::map<float, int>>
      most;  // by the place of the picture: stripes of GPU 3's sum
  for (const Label& label : sheet.labels) {
    if (label.text == "before" || label.text == "after" || label.text.find("step") == 0) {
      most[label.box.y0][label.box.x0] = 0;
    }
  }
  for (const Mark& mark : sheet.marks) {
    if (mark.target.kind != Target::Kind::cell || mark.target.rank != 3) continue;
    const bool scratch = !run->buffer(3, mark.target.buffer)->allocate->range;
    int lit = 0;
    for (int r = 0; r < K; ++r) {
      const float x = mark.box.x0 + mark.box.width() * (static_cast<float>(r) + 0.5f) / K;
      lit += pixel(sheet.image, {x, mark.box.center().y}) == head.theme().rank(r);
    }
    auto row = std::prev(most.upper_bound(mark.box.y0));
    auto picture = std::prev(row->second.upper_bound(mark.box.x0));
    if (scratch || lit == K) picture->second = std::max(picture->second, lit);
  }
  std::vector<int> grown;
  for (const auto& [y, row] : most) {
    for (const auto& [x, lit] : row) grown.push_back(lit);
  }
  CHECK(grown == std::vector<int>{0, 1, 2, 4, 4});
}

TEST_CASE("a strip of many steps leaves some out and keeps the first and the last") {
  const TemporaryFolder folder;
  const auto run = run_of(folder, Algorithm::ring, 8, 8 * 7);
  Session session({run});
  const Headless head(800, 600);
  const Sheet sheet = draw_alone(head, session, {}, [&](Context& context) {
    draw_collective_strip(context, head.area(), 0, session.collectives(0)[0]);
  });
  CHECK(misplaced(sheet, head.area()) == "");
  CHECK(sheet.says("before"));
  CHECK(sheet.says("after"));
  CHECK(sheet.says("step 1 of 14"));
  int steps = 0;
  for (const Label& label : sheet.labels) steps += label.text.find(" of 14") != std::string::npos;
  CHECK(steps < 14);
  CHECK(steps >= 2);
}

}  // namespace
}  // namespace zero::view
