// One collective of a run: its ranks, what each holds of it, and what moves between them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

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
  bool stuck = false;                 // the trace tells no more of it, and it is not over
  int in = 0, out = 0, expected = 0;  // ranks that have begun it, ended it, and take part in it
  std::vector<std::pair<const Transfer*, Travel>> flying;
};

// It is over when each rank that takes part has ended it, and all take part that may yet come to
// it.
void count_ranks(Now& now, const Collective& collective, const World& world, const Run& run) {
  std::size_t last = 0;  // the position after all that the traces tell of it
  std::vector<bool> takes_part(world.ranks.size());
  for (const Part& part : collective.parts) {
    takes_part[static_cast<std::size_t>(part.rank)] = true;
    now.in += part.begin < world.position;
    now.out += part.end && *part.end < world.position;
    last = std::max({last, part.begin + 1, part.end.value_or(0) + 1});
  }
  for (const replay::Hop& hop : collective.hops) {
    last = std::max({last, hop.send + 1, hop.receive.value_or(0) + 1});
  }
  for (int rank = 0; rank < run.world_size(); ++rank) {
    const RankLog& log = run.rank(rank);
    now.expected += takes_part[static_cast<std::size_t>(rank)] || (!log.path.empty() && !log.ended);
  }
  now.over = now.out == now.expected;
  now.stuck = !now.over && world.position >= last;
}

Now now(const CollectiveStory& story, const Collective& collective, const World& world,
        const Run& run) {
  Now now;
  now.begun = world.position >= collective.begin;
  count_ranks(now, collective, world, run);
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

// " shard 3", " shards 0 – 2", " shards 0, 2", " 5 shards": few words for any rows.
std::string rows_text(const CollectiveStory& story, const std::set<int>& rows) {
  std::set<int> names;
  for (const int row : rows) {
    const int owner = story.rows()[static_cast<std::size_t>(row)].owner;
    names.insert(story.rows_are_chunks() ? row : owner);
  }
  if (names.empty() || *names.begin() < 0) return "";
  std::string text = story.rows_are_chunks() ? " chunk" : " shard";
  if (names.size() > 1) text += "s";
  const bool dense = *names.rbegin() - *names.begin() + 1 == static_cast<int>(names.size());
  if (names.size() > 3 && !dense) {
    return fmt::format(" {}{}", names.size(), text);
  }
  if (names.size() > 2 && dense) {
    return text + fmt::format(" {} – {}", *names.begin(), *names.rbegin());
  }
  for (const int name : names)
    text += fmt::format("{} {}", name == *names.begin() ? "" : ",", name);
  return text;
}

// What is on its way, or was last: of one step, or of all that are under way at once.
std::string under_way(const CollectiveStory& story, const Collective& collective, const Now& now) {
  std::set<int> steps;
  std::set<std::int64_t> chunks, bytes;
  std::set<int> added, copied;  // rows
  for (const auto& [transfer, travel] : now.flying) {
    steps.insert(travel.step);
    chunks.insert(travel.chunk);
    bytes.insert(travel.bytes);
    (travel.adds ? added : copied).insert(travel.row);
  }
  std::string text;
  if (steps.size() > 1) {
    text = fmt::format("steps {} – {} of {}", *steps.begin(), *steps.rbegin(), collective.steps);
  } else {
    text =
        fmt::format("step {} of {}", steps.empty() ? now.step : *steps.begin(), collective.steps);
  }
  if (chunks.size() > 1) {
    text += fmt::format(", chunks {} – {} of {}", *chunks.begin() + 1, *chunks.rbegin() + 1,
                        story.chunks());
  } else if (story.chunks() > 1) {
    text += fmt::format(", chunk {} of {}", (chunks.empty() ? now.chunk : *chunks.begin()) + 1,
                        story.chunks());
  }
  if (!added.empty() && !copied.empty()) {
    text += ", adds" + rows_text(story, added) + ", copies" + rows_text(story, copied);
  } else {
    const auto step = std::find_if(story.steps().begin(), story.steps().end(),
                                   [&](const auto& s) { return s.step == now.step; });
    const bool adds =
        now.flying.empty() ? step != story.steps().end() && step->adds : copied.empty();
    text += adds ? ", adds" : ", copies";
  }
  if (bytes.size() == 1) text += fmt::format(", {} B a message", with_commas(*bytes.begin()));
  return text;
}

std::string line_of(const CollectiveStory& story, const Collective& collective, const Now& now,
                    bool live, const Run& run) {
  if (!now.begun) return "not begun yet";
  const std::string end = !now.stuck ? "" : live ? ", so far" : ", not finished";
  if (collective.opaque && run.is_simulated()) {
    const bool hidden = collective.owner && !run.is_traced(*collective.owner);
    const std::string owner = hidden ? fmt::format("owner GPU {}, ", *collective.owner) : "";
    return owner + "in closed form: no messages are told" + end;
  }
  if (collective.opaque) return "the library's own algorithm: messages not seen" + end;
  const auto step = std::find_if(story.steps().begin(), story.steps().end(),
                                 [&](const auto& s) { return s.step == now.step; });
  if (now.over) return fmt::format("done: {} B sent in all", with_commas(story.bytes()));
  if (step == story.steps().end()) {
    if (now.in == now.expected) return "begins" + end;
    return fmt::format("begun by {} of {} GPUs", now.in, now.expected) + end;
  }
  std::string text = under_way(story, collective, now);
  if (now.stuck && now.out > 0) {
    text += fmt::format(", ended by {} of {} GPUs", now.out, now.expected);
  }
  return text + end;
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
                 run.world_size() == 1 ? kOneGpu : std::string_view("No collectives in this run."),
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
  std::string line = line_of(story, *collective, now, session.live && !session.silent, run);
  const std::size_t columns = run.traced().size();
  const std::string all = with_commas(run.world_size());
  std::string shown;
  if (columns > CollectivePainter::kMost) {
    shown = fmt::format("; the first {} of {} GPUs", CollectivePainter::kMost, all);
  } else if (columns < static_cast<std::size_t>(run.world_size())) {
    shown = fmt::format("; {} of {} GPUs", columns, all);
  }
  if (canvas.width_of(line + shown, Font::body) < area.width()) line += shown;
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
    const CollectiveShape shape = CollectivePainter::shape_of(story, ring);
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
  for (int column = 0; column < shape.ranks; ++column) {
    const int rank = story.columns()[static_cast<std::size_t>(column)];
    const Moment moment{story.moment(world, rank), std::nullopt};
    painter.rank(story.state(world, rank), moment, rank, leaving);
  }
  for (const EventIndex send : leaving) painter.arrow(send, theme.muted, 1.5f);
  painter.messages(now.flying);
}

}  // namespace zero::view
