#include "visualizer/view/memory_curve.h"

#include <algorithm>
#include <numeric>

namespace zero::view {

using namespace replay;

std::int64_t sum_of(const LiveBytes& live) {
  return std::accumulate(live.begin(), live.end(), std::int64_t{0});
}

MemoryCurve::MemoryCurve(const Run& run, int rank, const Alignment& alignment, std::size_t place)
    : length_(alignment.length()) {
  const bool there = rank >= 0 && rank < run.world_size();
  steps_.push_back({});
  if (!there) return;
  steps_.reserve(run.memory(rank).size() + 1);
  for (const MemoryPoint& point : run.memory(rank)) {
    // An event has happened at the position after it.
    const double clock = alignment.clock(place, point.event + 1);
    steps_.push_back({clock, point.event, point.live, sum_of(point.live)});
    if (steps_.back().total > steps_[peak_].total) peak_ = steps_.size() - 1;
  }
  const EventList& events = run.rank(rank).events;
  for (std::size_t i = 0; i < events.size() && !budget_; ++i) {
    const auto* iteration = std::get_if<event::Iteration>(&events[i].what);
    if (iteration) budget_ = iteration->budget;
  }
}

const MemoryStep& MemoryCurve::at(double clock) const {
  const auto after =
      std::upper_bound(steps_.begin() + 1, steps_.end(), clock,
                       [](double c, const MemoryStep& step) { return c < step.clock; });
  return *std::prev(after);
}

const std::vector<const MemoryStep*>& MemoryCurve::columns(int width) const {
  constexpr std::size_t kKept = 8;
  const auto found = columns_.find(width);
  if (found != columns_.end()) return found->second;
  if (columns_.size() == kKept) columns_.clear();  // a window is being resized
  return columns_[width] = downsampled(width);
}

std::vector<const MemoryStep*> MemoryCurve::downsampled(int width) const {
  std::vector<const MemoryStep*> columns;
  columns.reserve(static_cast<std::size_t>(width));
  std::size_t next = 1;  // the first step that has not begun
  for (int c = 0; c < width; ++c) {
    const double end = length_ * (c + 1) / width;
    const MemoryStep* highest = &steps_[next - 1];
    // The last column has all that is left: the clock may end with an event.
    for (; next < steps_.size() && (steps_[next].clock < end || c + 1 == width); ++next) {
      if (steps_[next].total > highest->total) highest = &steps_[next];
    }
    columns.push_back(highest);
  }
  return columns;
}

}  // namespace zero::view
