// Inspect: everything that the trace says of what is selected.
#include <fmt/format.h>

#include <algorithm>

#include "common/memory/bytes.h"
#include "visualizer/view/inspect_parts.h"
#include "visualizer/view/kept.h"
#include "visualizer/view/story_waiting.h"
#include "visualizer/view/words.h"

namespace zero::view {

using namespace replay;

namespace {

Style chip_of(const Theme& theme, int rank) {
  return {theme.rank(rank), theme.rank_ink(rank), Pattern::plain, {}};
}

void list_doing(Context& context, Panel& panel, int r, int rank, const RankState& state) {
  const Run& run = context.session.run(r);
  const auto* step = state.step ? std::get_if<event::Step>(&run.event(*state.step).what) : nullptr;
  panel.pair("step", step ? step->caption : "before the first");
  if (step && step->unit) panel.pair("unit", *step->unit);
  if (const auto halt = halt_of(context.session, r, rank)) {
    panel.pair("state", halt->words);
    panel.paragraph(failure_of(context.session, r, rank));
  } else if (state.over) {
    panel.pair("state", "its trace is over");
  }
  if (!state.operators.empty()) {
    const EventIndex e = state.operators.back();
    if (const auto* op = std::get_if<event::OperatorBegin>(&run.event(e).what)) {
      panel.pair("operator", op->name);
    }
  }
  if (state.collective) {
    const event::Any& what = run.event(*state.collective).what;
    if (const auto* collective = std::get_if<event::CollectiveBegin>(&what)) {
      panel.pair("collective", collective->name + ", " + collective->algorithm);
    }
  }
}

}  // namespace

void inspect_rank(Context& context, Panel& panel, const Target& target) {
  const Session& session = context.session;
  const Run& run = session.run(target.run);
  const RankState& state = session.world(target.run).ranks[static_cast<std::size_t>(target.rank)];
  panel.title(fmt::format("GPU {}", target.rank), session.name(target.run),
              chip_of(context.canvas.theme(), target.rank));
  list_doing(context, panel, target.run, target.rank, state);
  panel.pair(
      "events",
      fmt::format("{} of {}", with_commas(static_cast<std::int64_t>(state.done)),
                  with_commas(static_cast<std::int64_t>(run.rank(target.rank).events.size()))));
  panel.pair("sent", format_bytes(state.sent));
  panel.pair("received", format_bytes(state.received));
  panel.gap();
  panel.heading("Memory");
  list_memory(context, panel, state, true);
  if (state.peak) list_event(context, panel, target, "the peak so far", *state.peak);
  panel.gap();
  if (!state.buffers.empty()) list_buffers(context, panel, target.run, state);
}

void inspect_transfer(Context& context, Panel& panel, const Target& target) {
  const Session& session = context.session;
  const Run& run = session.run(target.run);
  const EventIndex e = target.event;
  const event::Hop& hop = *run.hop(e);
  const auto* send = std::get_if<event::Send>(&run.event(e).what);
  panel.title(fmt::format("{}, step {} of {}", hop.name, hop.step, hop.steps),
              fmt::format("GPU {} to GPU {}, {}, {}", hop.source, hop.destination, hop.algorithm,
                          session.name(target.run)),
              chip_of(context.canvas.theme(), hop.source));
  std::optional<EventIndex> receive;
  if (send) receive = run.partner(e);
  const std::size_t position = session.world(target.run).position;
  panel.pair("state", position <= e          ? "not sent yet"
                      : !send                ? "moved within the GPU"
                      : !receive             ? "never received, in this trace"
                      : position <= *receive ? "under way"
                                             : "received");
  panel.pair("effect", hop.effect == Effect::add ? "added to the receiver's own values"
                                                 : "copied: it replaces what is there");
  panel.pair("bytes", send ? format_bytes(send->bytes) : "");
  panel.pair("elements", with_commas(hop.range.size()));
  panel.pair("positions", range_text(hop.range));
  panel.pair("unit", names_at(run.header().units, hop.range));
  panel.pair("tensor", names_at(run.header().tensors, hop.range));
  panel.pair("chunk", with_commas(hop.chunk));
  panel.pair("collective", fmt::format("number {}", with_commas(hop.collective)));
  list_values(panel, run, e);
  if (send) {
    const World& world = world_at(session, target.run, e + 1);
    const auto carried = std::find_if(world.in_flight.begin(), world.in_flight.end(),
                                      [&](const Transfer& transfer) { return transfer.send == e; });
    if (carried != world.in_flight.end() && carried->content && !carried->content->empty()) {
      panel.gap();
      panel.heading("What it carries");
      Contents contents;
      for (const Cell& cell : *carried->content) contents.add(cell.content, cell.size());
      contents.list(panel, run.world_size());
      panel.ranks("from", carried->content->front().content.contributors, run.world_size());
    }
  }
  panel.gap();
  panel.heading("Where");
  const auto buffer = [&](std::string_view key, int rank, std::int64_t number) {
    if (const BufferInfo* info = run.buffer(rank, number)) panel.pair(key, info->allocate->name);
  };
  if (send) buffer("out of", hop.source, send->from.buffer);
  if (receive) {
    const auto* event = std::get_if<event::Receive>(&run.event(*receive).what);
    if (event) buffer("into", hop.destination, event->into.buffer);
    if (event && event->own) buffer("own", hop.destination, event->own->buffer);
  }
  list_event(context, panel, target, send ? "sent" : "moved", e);
  if (receive) list_event(context, panel, target, "received", *receive);
}

void inspect_chapter(Context& context, Panel& panel, const Target& target) {
  Session& session = context.session;
  const Run& run = session.run(target.run);
  const std::size_t index = *run.chapter_at(target.event);
  const Chapter& chapter = run.chapters()[index];
  event::Step step{chapter.iteration, chapter.number, chapter.caption, std::nullopt};
  if (!chapter.unit.empty()) step.unit = chapter.unit;
  panel.title(chapter.caption, fmt::format("{}, {}", step_text(&step), session.name(target.run)),
              {});
  panel.paragraph(session.sentence(target.run, index));
  panel.pair("positions", range_text({static_cast<std::int64_t>(chapter.begin),
                                      static_cast<std::int64_t>(chapter.end)}));
  panel.gap();
  panel.heading("Bytes when it ends");
  const World& world = world_at(session, target.run, chapter.end);
  panel.numbers("", "live", "peak so far");
  for (const int r : run.traced()) {
    const event::Bytes& total = world.ranks[static_cast<std::size_t>(r)].total;
    const Style style = chip_of(context.canvas.theme(), r);
    panel.numbers(fmt::format("GPU {}", r), with_commas(total.live), with_commas(total.peak),
                  &style);
  }
}

void inspect_moment(Context& context, Panel& panel, const Target& target) {
  const Session& session = context.session;
  const Run& run = session.run(target.run);
  const World& world = world_at(session, target.run, target.event + 1);
  const RankState& state = world.ranks[static_cast<std::size_t>(target.rank)];
  panel.title(format_bytes(state.total.live),
              fmt::format("GPU {} of {}, {}", target.rank, session.name(target.run),
                          step_text(step_of(run, target.event))),
              {});
  const event::Any& what = run.event(target.event).what;
  std::string text = "this event";
  const auto name = [&](std::int64_t number) {
    const BufferInfo* info = run.buffer(target.rank, number);
    return info ? info->allocate->name : std::to_string(number);
  };
  if (const auto* allocate = std::get_if<event::Allocate>(&what)) {
    text = allocate->name + " allocated";
  } else if (const auto* free = std::get_if<event::Free>(&what)) {
    text = name(free->buffer) + " freed";
  }
  list_event(context, panel, target, text, target.event);
  panel.gap();
  list_memory(context, panel, state, false);
  panel.gap();
  if (state.buffers.empty()) return;
  if (target.begin < target.end) {
    const auto category = static_cast<Memory>(target.begin);
    panel.text(context.canvas.theme().category(category).name);
    list_buffers(context, panel, target.run, state, &category);
  } else {
    list_buffers(context, panel, target.run, state);
  }
}

void draw_inspect(Context& context, Rect area) {
  const Target target = context.session.selected;
  Panel panel(context, area, target);
  if (!exists(context.session, target)) {
    panel.title("Nothing here", "what was selected is not in this run", {});
    return panel.end();
  }
  switch (target.kind) {
    case Target::Kind::buffer:
    case Target::Kind::cell:
      inspect_buffer(context, panel, target);
      break;
    case Target::Kind::transfer:
      inspect_transfer(context, panel, target);
      break;
    case Target::Kind::rank:
      inspect_rank(context, panel, target);
      break;
    case Target::Kind::chapter:
      inspect_chapter(context, panel, target);
      break;
    case Target::Kind::moment:
      inspect_moment(context, panel, target);
      break;
    case Target::Kind::none:
    case Target::Kind::control:
      break;
  }
  panel.end();
}

}  // namespace zero::view
