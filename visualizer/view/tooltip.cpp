// A few words beside the pointer on what is there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/memory/bytes.h"
#include "visualizer/view/inspect_parts.h"
#include "visualizer/view/kept.h"
#include "visualizer/view/story_waiting.h"
#include "visualizer/view/words.h"

namespace zero::view {

using namespace replay;

namespace {

// The first is what it is; the others, what to know of it. At most 4.
using Lines = std::vector<std::string>;

std::string of_run(const Session& session, int run) {
  return session.size() > 1 ? ", " + session.name(run) : "";
}

Lines say_buffer(const Session& session, const Target& target) {
  const Run& run = session.run(target.run);
  const BufferInfo& info = *run.buffer(target.rank, target.buffer);
  const event::Allocate& buffer = *info.allocate;
  Lines lines = {
      fmt::format("{}, GPU {}{}", buffer.name, target.rank, of_run(session, target.run))};
  std::int64_t begin = 0, end = buffer.size;
  const World& world = session.world(target.run);
  const Buffer* alive = world.ranks[static_cast<std::size_t>(target.rank)].buffer(target.buffer);
  std::string holds;
  if (target.kind == Target::Kind::cell && alive && alive->cells().holds(target.begin, 1)) {
    const Cell& cell = alive->cells().at(target.begin);
    begin = std::max(target.begin, cell.begin);
    end = std::clamp(target.end, begin + 1, cell.end);
    holds = content_text(cell.content, run.world_size());
  }
  const auto positions = positions_of(buffer, begin, end);
  const std::string unit = positions ? names_at(run.header().units, *positions) : "";
  if (positions) {
    lines.push_back(
        fmt::format("{} {}", unit.empty() ? "positions" : unit, range_text(*positions)));
  }
  lines.push_back(fmt::format("{}, {}", format_bytes((end - begin) * bytes_of(buffer.dtype)),
                              zero::to_string(buffer.dtype)));
  if (!holds.empty()) {
    lines.push_back(holds);
  } else {
    lines.push_back("since " + step_text(step_of(run, info.birth)));
  }
  return lines;
}

Lines say_transfer(const Session& session, const Target& target) {
  const Run& run = session.run(target.run);
  const event::Hop& hop = *run.hop(target.event);
  Lines lines = {
      fmt::format("GPU {} to GPU {}{}", hop.source, hop.destination, of_run(session, target.run)),
      fmt::format("{}, step {} of {}: {}", hop.name, hop.step, hop.steps,
                  hop.effect == Effect::add ? "add" : "copy"),
      range_text(hop.range)};
  if (const auto* send = std::get_if<event::Send>(&run.event(target.event).what)) {
    lines.back() += ", " + format_bytes(send->bytes);
  }
  for (const Transfer& transfer : session.world(target.run).in_flight) {
    if (transfer.send != target.event || !transfer.content || transfer.content->empty()) continue;
    lines.push_back(content_text(transfer.content->front().content, run.world_size()));
  }
  return lines;
}

Lines say_rank(const Session& session, const Target& target) {
  const RankState& state = session.world(target.run).ranks[static_cast<std::size_t>(target.rank)];
  Lines lines = {fmt::format("GPU {}{}", target.rank, of_run(session, target.run)),
                 format_bytes(state.total.live) + " now",
                 format_bytes(state.total.peak) + " at its peak so far"};
  if (const auto halt = halt_of(session, target.run, target.rank)) {
    lines.push_back(halt->words);
  } else if (state.over) {
    lines.push_back("its trace is over");
  }
  return lines;
}

Lines say_chapter(const Session& session, const Target& target) {
  const Run& run = session.run(target.run);
  const Chapter& chapter = run.chapters()[*run.chapter_at(target.event)];
  event::Step step{chapter.iteration, chapter.number, {}, std::nullopt};
  if (!chapter.unit.empty()) step.unit = chapter.unit;
  return {chapter.caption, step_text(&step) + of_run(session, target.run)};
}

// The largest buffers of those that were alive, as far as a line has room for them.
std::string largest(const RankState& state, const Target& target) {
  std::vector<const event::Allocate*> alive;
  for (const Buffer& buffer : state.buffers) {
    const auto category = static_cast<std::int64_t>(buffer.info->allocate->category);
    const bool asked = target.begin < target.end;
    if (!asked || category == target.begin) alive.push_back(buffer.info->allocate);
  }
  constexpr std::size_t kMost = 3;
  const std::size_t shown = std::min(kMost, alive.size());
  std::partial_sort(alive.begin(), alive.begin() + static_cast<std::ptrdiff_t>(shown), alive.end(),
                    [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", alive[i]->name, brief_bytes(alive[i]->bytes));
  }
  if (alive.size() > shown) text += fmt::format(", {} more", alive.size() - shown);
  return text;
}

Lines say_moment(const Context& context, const Target& target) {
  const Session& session = context.session;
  const Run& run = session.run(target.run);
  const World& world = world_at(session, target.run, target.event + 1);
  const RankState& state = world.ranks[static_cast<std::size_t>(target.rank)];
  Lines lines = {format_bytes(state.total.live) + of_run(session, target.run),
                 step_text(step_of(run, target.event))};
  if (target.begin < target.end && target.begin >= 0 && target.begin < kMemoryCategories) {
    const auto category = static_cast<std::size_t>(target.begin);
    lines.push_back(fmt::format("{} {}", context.canvas.theme().categories[category].name,
                                format_bytes(state.memory[category].live)));
  }
  const BufferInfo* info = run.buffer(target.rank, target.buffer);
  if (info) {
    lines.push_back(fmt::format("{} {}, since {}", info->allocate->name,
                                format_bytes(info->allocate->bytes),
                                step_text(step_of(run, info->birth))));
  } else if (const std::string text = largest(state, target); !text.empty()) {
    lines.push_back(text);
  }
  return lines;
}

Lines lines_of(const Context& context, const Target& target) {
  const Session& session = context.session;
  if (target.kind == Target::Kind::control) {
    // A line of a history.
    const bool there = target.event == kInspectEvent && target.run >= 0 &&
                       target.run < session.size() && target.begin >= 0;
    const auto event = static_cast<EventIndex>(target.begin);
    if (!there || event >= session.run(target.run).size()) return {};
    const Run& run = session.run(target.run);
    return {line_text(run, event), step_text(step_of(run, event)), "Click to go there"};
  }
  if (!exists(session, target)) return {};
  switch (target.kind) {
    case Target::Kind::buffer:
    case Target::Kind::cell:
      return say_buffer(session, target);
    case Target::Kind::transfer:
      return say_transfer(session, target);
    case Target::Kind::rank:
      return say_rank(session, target);
    case Target::Kind::chapter:
      return say_chapter(session, target);
    case Target::Kind::moment:
      return say_moment(context, target);
    case Target::Kind::none:
    case Target::Kind::control:
      break;
  }
  return {};
}

// Below and right of the pointer; on the other side of it where there is no room.
Rect beside(Point mouse, float width, float height, const Rect& area) {
  constexpr float kApart = 16;
  float x = mouse.x + kApart, y = mouse.y + kApart;
  if (x + width > area.x1) x = mouse.x - kApart - width;
  if (y + height > area.y1) y = mouse.y - kApart - height;
  x = std::max(area.x0, std::min(x, area.x1 - width));
  y = std::max(area.y0, std::min(y, area.y1 - height));
  return Rect::of_size(std::round(x), std::round(y), width, height).intersection(area);
}

}  // namespace

void draw_tooltip(Context& context, Rect area) {
  const Lines lines = lines_of(context, context.session.hovered);
  if (lines.empty()) return;
  Canvas& canvas = context.canvas;
  const Theme& theme = canvas.theme();
  constexpr float kLine = 19, kPadX = 10, kPadY = 7, kWidest = 420;
  float width = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    width = std::max(width, canvas.width_of(lines[i], i == 0 ? Font::strong : Font::small));
  }
  const Rect room = area.inset(4);
  width = std::min(std::ceil(width) + 1, std::min(kWidest, room.width() - 2 * kPadX));
  const float height = kLine * static_cast<float>(lines.size()) + 2 * kPadY;
  const Rect box = beside(context.input.mouse, width + 2 * kPadX, height, room);
  canvas.fill(box, theme.dark ? mixed(theme.panel, theme.faint, 0.35f) : theme.background, 6);
  canvas.outline(box, theme.faint, 1, 6);
  Rect rest = box.inset(kPadX, kPadY);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool first = i == 0;
    canvas.label(rest.cut_top(kLine), lines[i],
                 {first ? theme.text : theme.muted, first ? Font::strong : Font::small});
  }
}

}  // namespace zero::view
