// The moments of one collective side by side: before, after each step, and at the end.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/memory/bytes.h"
#include "visualizer/view/collective_paint.h"

namespace zero::view {

using namespace replay;

namespace {

// One picture of the strip.
struct Shot {
  std::string title;
  std::optional<int> step;       // absent: after everything
  std::vector<EventIndex> sent;  // in this step
  bool adds = false;
  std::vector<std::size_t> positions;  // by rank: what it has is what it had then
  std::vector<bool> passed;            // by rank: the events looked at are later ones
  std::vector<RankState> states;       // by rank
};

std::vector<Shot> shots_of(const CollectiveStory& story, const Collective& collective) {
  std::vector<Shot> shots(1);
  shots[0].title = "before";
  shots[0].step = 0;
  for (const CollectiveStory::Step& step : story.steps()) {
    Shot shot;
    shot.title = fmt::format("step {} of {}", step.step, collective.steps);
    shot.step = step.step;
    shot.adds = step.adds;
    for (const std::size_t hop : step.hops) shot.sent.push_back(collective.hops[hop].send);
    shots.push_back(std::move(shot));
  }
  shots.emplace_back();
  shots.back().title = "after";
  return shots;
}

// Too many for the room: the first ones, the last one, those where adding turns into copying, and
// of the others as many as there is room for, evenly.
void thin_out(std::vector<Shot>& shots, std::size_t most) {
  const std::size_t n = shots.size();
  if (n <= most || most < 2) return;
  std::set<std::size_t> kept = {0, n - 1};
  const auto keep = [&](std::size_t i) {
    if (kept.size() < most) kept.insert(i);
  };
  keep(1);
  keep(n - 2);
  for (std::size_t i = 2; i + 1 < n; ++i) {
    if (shots[i].adds == shots[i - 1].adds) continue;
    keep(i - 1);
    keep(i);
  }
  keep(2);
  for (std::size_t parts = 2; kept.size() < most; ++parts) {
    for (std::size_t i = 1; i < parts; ++i) keep(i * (n - 1) / parts);
  }
  std::vector<Shot> left;
  for (const std::size_t i : kept) left.push_back(std::move(shots[i]));
  shots = std::move(left);
}

// A rank's state follows from its own events alone: what it has after a step is what it has
// before its first receive of a later one, wherever the others are by then.
void play(std::vector<Shot>& shots, const Run& run, const Collective& collective,
          std::optional<std::int64_t> chunk) {
  const auto K = static_cast<std::size_t>(run.world_size());
  for (Shot& shot : shots) {
    shot.positions.assign(K, collective.begin);
    shot.passed.assign(K, false);
    shot.states.resize(K);
  }
  for (const Part& part : collective.parts) {
    const auto rank = static_cast<std::size_t>(part.rank);
    for (Shot& shot : shots) shot.positions[rank] = part.begin + 1;
    shots.back().positions[rank] = part.end ? *part.end + 1 : collective.end;
  }
  for (EventIndex e = collective.begin; e < std::min(collective.end, run.size()); ++e) {
    const event::Hop* hop = run.hop(e);
    if (!hop || hop->collective != collective.number || (chunk && hop->chunk != *chunk)) continue;
    if (std::holds_alternative<event::Send>(run.event(e).what)) continue;
    const auto rank = static_cast<std::size_t>(run.rank_of(e));
    for (Shot& shot : shots) {
      if (!shot.step || *shot.step == 0 || shot.passed[rank]) continue;
      // A sum that lands may bear an earlier step's number: it is over when a later one begins.
      shot.passed[rank] = hop->step > *shot.step;
      if (!shot.passed[rank]) shot.positions[rank] = e + 1;
    }
  }
  struct Stop {
    std::size_t position, shot, rank;
  };
  std::vector<Stop> stops;
  for (std::size_t s = 0; s < shots.size(); ++s) {
    for (std::size_t r = 0; r < K; ++r) stops.push_back({shots[s].positions[r], s, r});
  }
  std::sort(stops.begin(), stops.end(),
            [](const Stop& a, const Stop& b) { return a.position < b.position; });
  World world = run.at(stops.front().position);
  for (const Stop& stop : stops) {
    while (world.position < std::min(stop.position, run.size())) world.apply(run);
    shots[stop.shot].states[stop.rank] = world.ranks[stop.rank];
  }
}

// As many columns as make the pictures largest.
int columns_for(Rect area, int count, float aspect) {
  int best = 1;
  float largest = 0;
  for (int columns = 1; columns <= count; ++columns) {
    const int rows = (count + columns - 1) / columns;
    const float width = area.width() / static_cast<float>(columns);
    const float height = area.height() / static_cast<float>(rows);
    const float size = std::min(width, height * aspect);
    if (size > largest + 0.5f) {
      largest = size;
      best = columns;
    }
  }
  return best;
}

}  // namespace

void draw_collective_strip(Context& context, Rect area, int r, const Collective& shown) {
  Canvas& canvas = context.canvas;
  const Theme& theme = canvas.theme();
  const Run& run = context.session.run(r);
  if (run.world_size() == 1) {
    canvas.fill(area, theme.panel, 4);
    canvas.label(area, kOneGpu, {theme.muted, Font::body, Align::center});
    return;
  }
  std::int64_t chunks = 0;
  for (const replay::Hop& hop : shown.hops) {
    chunks = std::max(chunks, run.hop(hop.send)->chunk + 1);
  }
  const std::optional<std::int64_t> chunk =
      chunks > 1 ? std::optional<std::int64_t>(0) : std::nullopt;
  const CollectiveStory story(run, shown, chunk);

  Rect head = area.cut_top(canvas.line_height(Font::title) + 10);
  const Rect ink = canvas.label(head, fmt::format("{}, {}", spoken(shown.name), shown.algorithm),
                                {theme.text, Font::title, Align::left});
  head.x0 = ink.x1 + 20;
  if (chunk) {
    canvas.label(head, fmt::format("the first of {} chunks", with_commas(chunks)),
                 {theme.muted, Font::body, Align::right});
  }

  const CollectiveShape shape = CollectivePainter::shape_of(story, false);
  // Height and width that a picture needs to be read.
  const float height = 46 + static_cast<float>(shape.rows) * (shape.sums ? 17.0f : 12.0f);
  const float width = 20 + static_cast<float>(shape.ranks) * 32;
  const auto most = static_cast<std::size_t>(std::max(1.0f, std::floor(area.width() / width)) *
                                             std::max(1.0f, std::floor(area.height() / height)));
  std::vector<Shot> shots = shots_of(story, shown);
  thin_out(shots, std::max<std::size_t>(2, most));
  play(shots, run, shown, chunk);

  const auto count = static_cast<int>(shots.size());
  const float aspect = static_cast<float>(shape.ranks) * (shape.sums ? 2.2f : 2.6f) /
                       static_cast<float>(shape.rows + 2);
  const int columns = columns_for(area, count, std::clamp(aspect, 0.6f, 4.0f));
  const int rows = (count + columns - 1) / columns;
  std::vector<std::pair<int, Piece>> sums;
  for (int i = 0; i < count; ++i) {
    const Shot& shot = shots[static_cast<std::size_t>(i)];
    Rect box = area.row(i / columns, rows, 12).column(i % columns, columns, 12);
    canvas.fill(box, theme.panel, 4);
    box = box.inset(10, 6);
    const bool gap = i > 0 && shot.step && shots[static_cast<std::size_t>(i - 1)].step &&
                     *shot.step > *shots[static_cast<std::size_t>(i - 1)].step + 1;
    canvas.label(box.cut_top(22), (gap ? "… " : "") + shot.title,
                 {theme.text, Font::strong, Align::left});
    const CollectiveLayout layout(shape, box, 20, 0);
    if (!layout.readable()) continue;
    CollectivePainter painter(context, r, story, layout, shown);
    painter.names();
    for (int column = 0; column < shape.ranks; ++column) {
      const int rank = story.columns()[static_cast<std::size_t>(column)];
      const auto at = static_cast<std::size_t>(rank);
      const Moment moment{shot.positions[at], shot.step};
      // Where a message went into a sum that has landed since, its place is still to be seen.
      std::vector<EventIndex> leaving = shot.sent;
      sums.clear();
      story.sums(shot.states[at], moment, rank, sums);
      for (const EventIndex send : shot.sent) {
        const auto travel = story.travel(send);
        if (!travel || !travel->to_slot || travel->destination != rank) continue;
        for (const auto& [row, sum] : sums) {
          if (row == travel->row && sum.spent) leaving.push_back(sum.spent_by);
        }
      }
      painter.rank(shot.states[at], moment, rank, leaving);
    }
    for (const EventIndex send : shot.sent) painter.arrow(send, theme.text, 2);
    const int place = columns * rows - 1;  // free, if it is not this one's
    if (i + 1 == count && place > i) {
      Rect rest = area.row(rows - 1, rows, 12).column(columns - 1, columns, 12).inset(10, 6);
      rest.cut_top(22);
      painter.legend(rest, Font::body);
    }
  }
}

}  // namespace zero::view
