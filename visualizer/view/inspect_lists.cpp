// The lists that several targets have in common.
#include <fmt/format.h>

#include <algorithm>

#include "common/memory/bytes.h"
#include "visualizer/view/heat.h"
#include "visualizer/view/inspect_parts.h"
#include "visualizer/view/words.h"

namespace zero::view {

using namespace replay;

bool exists(const Session& session, const Target& target) {
  if (target.run < 0 || target.run >= session.size()) return false;
  const Run& run = session.run(target.run);
  const bool rank = run.is_traced(target.rank);
  switch (target.kind) {
    case Target::Kind::none:
    case Target::Kind::control:
      return false;
    case Target::Kind::rank:
      return rank;
    case Target::Kind::buffer:
      return rank && run.buffer(target.rank, target.buffer);
    case Target::Kind::cell: {
      const BufferInfo* info = rank ? run.buffer(target.rank, target.buffer) : nullptr;
      return info && target.begin >= 0 && target.begin < info->allocate->size;
    }
    case Target::Kind::transfer:
      return target.event < run.size() && run.hop(target.event);
    case Target::Kind::chapter:
      return run.chapter_at(target.event).has_value();
    case Target::Kind::moment:
      return rank && target.event < run.size() && run.rank_of(target.event) == target.rank;
  }
  return false;
}

void list_memory(Context& context, Panel& panel, const RankState& state, bool peaks) {
  const Theme& theme = context.canvas.theme();
  panel.numbers("", "now", peaks ? "peak" : "");
  for (int c = 0; c < kMemoryCategories; ++c) {
    const event::Bytes& bytes = state.memory[static_cast<std::size_t>(c)];
    if (bytes.peak == 0) continue;
    const Style& style = theme.categories[c];
    panel.numbers(style.name, with_commas(bytes.live), peaks ? with_commas(bytes.peak) : "",
                  &style);
  }
  panel.numbers("in all, bytes", with_commas(state.total.live),
                peaks ? with_commas(state.total.peak) : "");
}

void list_buffers(Context& context, Panel& panel, int run, const RankState& state,
                  const Memory* category) {
  std::vector<const event::Allocate*> alive;
  for (const Buffer& buffer : state.buffers) {
    if (!category || buffer.info->allocate->category == *category) {
      alive.push_back(buffer.info->allocate);
    }
  }
  std::stable_sort(alive.begin(), alive.end(),
                   [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  const Theme& theme = context.canvas.theme();
  panel.heading(
      fmt::format("{} {}alive", alive.size(), alive.size() == 1 ? "buffer " : "buffers "));
  const Panel::Sight sight = panel.sight(alive.size());
  panel.skip(sight.first);
  for (std::size_t i = sight.first; i < sight.last; ++i) {
    Target target{Target::Kind::buffer, run, state.buffers.front().info->rank};
    target.buffer = alive[i]->buffer;
    panel.numbers(alive[i]->name, with_commas(alive[i]->bytes), "",
                  &theme.category(alive[i]->category), target);
  }
  panel.skip(alive.size() - sight.last);
}

void Contents::add(const Content& content, std::int64_t elements) {
  constexpr std::size_t kMost = 8;
  const auto found = std::find_if(sorts_.begin(), sorts_.end(),
                                  [&](const auto& sort) { return sort.first == content; });
  if (found != sorts_.end()) {
    found->second += elements;
  } else if (sorts_.size() < kMost) {
    sorts_.push_back({content, elements});
  } else {
    others_ += elements;
  }
}

void Contents::list(Panel& panel, int world_size) const {
  panel.numbers("", "elements", "");
  for (const auto& [content, elements] : sorts_) {
    panel.numbers(content_text(content, world_size), with_commas(elements), "");
  }
  if (others_ > 0) panel.numbers("others", with_commas(others_), "");
}

void list_values(Panel& panel, const Run& run, EventIndex event) {
  const auto values = sample_of(run.event(event));
  if (values.empty()) {
    if (!run.header().sampled) panel.pair("values", "not traced");
    return;
  }
  std::string text;
  for (const double value : values) {
    if (!text.empty()) text += ", ";
    text += number_text(value);
  }
  panel.pair("values", text);
  panel.text(fmt::format("a sample: the first {} of this event", values.size()));
}

void list_event(Context& context, Panel& panel, const Target& target, std::string_view text,
                EventIndex event) {
  const Run& run = context.session.run(target.run);
  const event::Step* step = step_of(run, event);
  const std::string number = !step ? ""
                             : step->iteration < 0
                                 ? std::to_string(step->number)
                                 : fmt::format("{}:{}", step->iteration + 1, step->number);
  Target row{Target::Kind::control, target.run, run.rank_of(event), target.buffer};
  row.begin = static_cast<std::int64_t>(event);
  row.event = kInspectEvent;
  const std::size_t position = context.session.world(target.run).position;
  const std::string line = line_text(run, event);
  if (panel.happened(number, text, line, event >= position, event + 1 == position, row)) {
    const auto r = static_cast<std::size_t>(target.run);
    context.session.seek_after_frame(context.session.alignment().clock(r, event + 1));
  }
}

}  // namespace zero::view
