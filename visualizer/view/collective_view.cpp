// One collective of a run: its ranks, what each holds of it, and what moves between them.
#include <fmt/format.h>

#include <algorithm>

#include "common/memory/bytes.h"
#include "visualizer/view/collective_paint.h"

namespace zero::view {

using namespace replay;

namespace {

// What is going on at a position.
struct Now {
  int step = 0;  // under way, or the last one; 0: none yet
  std::int64_t chunk = 0;
  bool begun = false, over = false;
  std::vector<std::pair<const Transfer*, Travel>> flying;
};

Now now(const CollectiveStory& story, const Collective& collective, const World& world,
        const Run& run) {
  Now now;
  now.begun = world.position >= collective.begin;
  now.over = world.position >= collective.end;
  for (const Transfer& transfer : world.in_flight) {
    if (transfer.send + 1 < collective.begin) continue;
    if (const auto travel = story.travel(transfer.send))
      now.flying.emplace_back(&transfer, *travel);
  }
  const auto next = std::lower_bound(
      collective.hops.begin(), collective.hops.end(), world.position,
      [](const replay::Hop& hop, std::size_t position) { return hop.send < position; });
  const event::Hop* hop = nullptr;
  if (!now.flying.empty()) hop = run.hop(now.flying.front().first->send);
  else if (next != collective.hops.begin()) hop = run.hop(std::prev(next)->send);
  if (hop) {
    now.step = hop->step;
    now.chunk = hop->chunk;
  }
  return now;
}

std::string line_of(const CollectiveStory& story, const Collective& collective, const Now& now) {
  if (!now.begun) return "not begun yet";
  if (collective.opaque) return "the library's own algorithm: messages not seen";
  const auto step = std::find_if(story.steps().begin(), story.steps().end(),
                                 [&](const auto& s) { return s.step == now.step; });
  if (now.over) return fmt::format("done: {} B sent in all", with_commas(story.bytes()));
  if (step == story.steps().end()) return "begins";
  std::string text = fmt::format("step {} of {}", now.step, collective.steps);
  if (story.chunks() > 1) text += fmt::format(", chunk {} of {}", now.chunk + 1, story.chunks());
  text += step->adds ? ", adds" : ", copies";
  if (!now.flying.empty()) {
    text += fmt::format(", {} B a message", with_commas(now.flying.front().second.bytes));
  }
  return text;
}

}  // namespace

void draw_collective(Context& context, Rect area, int r) {
  Canvas& canvas = context.canvas;
  const Theme& theme = canvas.theme();
  Session& session = context.session;
  const Run& run = session.run(r);
  canvas.fill(area, theme.panel, 4);
  area = area.inset(12, 8);
  const Collective* collective = session.collective(r);
  if (!collective || run.world_size() == 1) {
    canvas.label(area,
                 run.world_size() == 1 ? "One GPU: nothing to send, nothing to receive."
                                       : "No collectives in this run.",
                 {theme.muted, Font::body, Align::center});
    return;
  }
  const CollectiveStory& story = session.derived<CollectiveStories>().of(run, *collective);
  const World& world = session.world(r);
  const Now now = view::now(story, *collective, world, run);

  const Font title_font = area.width() > 560 && area.height() > 330 ? Font::title : Font::strong;
  Rect head = area.cut_top(canvas.line_height(title_font) + 4);
  const std::string title = fmt::format("{}, {}", spoken(collective->name), collective->algorithm);
  const Rect ink = canvas.label(head, title, {theme.text, title_font, Align::left});
  head.x0 = ink.x1 + 16;
  canvas.label(head,
               fmt::format("elements {} – {}", with_commas(collective->range.begin),
                           with_commas(collective->range.end)),
               {theme.muted, Font::small, Align::right});
  std::string line = line_of(story, *collective, now);
  if (run.world_size() > CollectivePainter::kMost) {
    line += fmt::format("; the first {} of {} GPUs", CollectivePainter::kMost, run.world_size());
  }
  canvas.label(area.cut_top(canvas.line_height(Font::body) + 4), line,
               {theme.muted, Font::body, Align::left});
  area.cut_top(8);

  Rect legend;
  if (area.height() > 330 && area.width() > 560) {
    legend = area.cut_bottom(22);
    area.cut_bottom(4);
  }
  const float heading = area.height() > 220 ? 26.0f : 20.0f;
  const auto layout_of = [&](bool ring) {
    const CollectiveShape shape = CollectivePainter::shape_of(story, run.world_size(), ring);
    const float labels = area.width() > 420 && !shape.ring ? 70.0f : 0.0f;
    return CollectiveLayout(shape, area, heading, labels);
  };
  CollectiveLayout layout = layout_of(session.ring);
  if (!layout.readable() && layout.shape().ring) layout = layout_of(false);
  if (!layout.readable()) return;
  const CollectiveShape& shape = layout.shape();
  CollectivePainter painter(context, r, story, layout, *collective);
  painter.names();
  painter.legend(legend, Font::small);
  std::vector<EventIndex> leaving;
  for (const auto& [transfer, travel] : now.flying) leaving.push_back(transfer->send);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const Moment moment{story.moment(world, rank), std::nullopt};
    painter.rank(story.state(world, rank), moment, rank, leaving);
  }
  for (const EventIndex send : leaving) painter.arrow(send, theme.muted, 1.5f);
  for (const auto& [transfer, travel] : now.flying) {
    painter.message(*transfer, static_cast<float>(session.progress(r, *transfer)));
  }
}

}  // namespace zero::view
