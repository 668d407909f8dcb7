// Going through a rank's trace, event by event, and keeping its books.
#include "exercises/judge/walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/memory/bytes.h"
#include "exercises/judge/judge.h"

namespace zero::judge {

const TraceEvent* Walk::next() {
  if (at_ == trace_.events.size()) return nullptr;
  if (ended_) sent_ = 0;
  const TraceEvent& event = trace_.events[at_++];
  ended_ = std::holds_alternative<event::Iteration>(event.what);
  if (const auto* step = std::get_if<event::Step>(&event.what)) {
    // What was sent before the first iteration belongs to none.
    if (step_.iteration < 0 && step->iteration >= 0) sent_ = 0;
    step_ = *step;
  }
  if (const auto* allocate = std::get_if<event::Allocate>(&event.what)) keep(*allocate);
  if (const auto* freed = std::get_if<event::Free>(&event.what)) free(*freed);
  if (const auto* send = std::get_if<event::Send>(&event.what)) sent_ += send->bytes;
  return &event;
}

void Walk::keep(const event::Allocate& allocate) {
  Held held{allocate.name, allocate.category, allocate.bytes, allocate.range, step_};
  if (!alive_.emplace(allocate.buffer, std::move(held)).second)
    throw Unusable("a trace allocates a buffer twice");
  newest_ = allocate.buffer;
  const auto c = static_cast<std::size_t>(allocate.category);
  live_[c] += allocate.bytes;
  peak_[c] = std::max(peak_[c], live_[c]);
}

void Walk::free(const event::Free& freed) {
  const auto found = alive_.find(freed.buffer);
  if (found == alive_.end()) throw Unusable("a trace frees a buffer that is not alive");
  live_[static_cast<std::size_t>(found->second.category)] -= found->second.bytes;
  alive_.erase(found);
}

std::string Walk::alive_text(Memory category, std::size_t most) const {
  std::vector<const Held*> list;
  for (const auto& [buffer, held] : alive_) {
    if (held.category == category) list.push_back(&held);
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Held* a, const Held* b) { return a->bytes > b->bytes; });
  std::string text;
  for (std::size_t i = 0; i < std::min(most, list.size()); ++i) {
    const Held& held = *list[i];
    const std::string range =
        held.range ? fmt::format(" of [{}, {})", held.range->begin, held.range->end) : "";
    text += fmt::format("\n  \"{}\"{}: {}, allocated {}", shown(held.name), range,
                        format_bytes(held.bytes), place_text(held.born));
  }
  if (list.size() > most) text += fmt::format("\n  and {} more", list.size() - most);
  return text;
}

}  // namespace zero::judge
