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
  changes_.push_back({});
  if (!there) return;
  steps_.reserve(run.memory(rank).size() + 1);
  for (const MemoryPoint& point : run.memory(rank)) {
    // An event has happened at the position after it.
    const double clock = alignment.clock(place, point.event + 1);
    steps_.push_back({clock, point.event, point.live, sum_of(point.live)});
    if (steps_.back().total > steps_[peak_].total) peak_ = steps_.size() - 1;
    for (std::size_t c = 0; c < highest_.size(); ++c) {
      highest_[c] = std::max(highest_[c], point.live[c]);
    }
    Change change;
    const event::Any& what = run.event(point.event).what;
    const auto* allocate = std::get_if<event::Allocate>(&what);
    const auto* free = std::get_if<event::Free>(&what);
    change.buffer = allocate ? allocate->buffer : free ? free->buffer : 0;
    const BufferInfo* info = run.buffer(rank, change.buffer);
    if (info && (info->birth == point.event || info->death == point.event)) {
      change.category = info->allocate->category;
      change.bytes = allocate ? info->allocate->bytes : -info->allocate->bytes;
    }
    changes_.push_back(change);
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

namespace {

template <class T, class Make>
const T& find_or_make(std::map<int, T>& all, int width, Make make) {
  constexpr std::size_t kKept = 8;
  const auto found = all.find(width);
  if (found != all.end()) return found->second;
  if (all.size() == kKept) all.clear();  // a window is being resized
  return all[width] = make();
}

}  // namespace

const std::vector<const MemoryStep*>& MemoryCurve::columns(int width) const {
  return find_or_make(columns_, width, [&] { return downsampled(width); });
}

const std::vector<MemoryBand>& MemoryCurve::bands(int width) const {
  return find_or_make(bands_, width, [&] { return stacked(width); });
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

std::vector<MemoryBand> MemoryCurve::stacked(int width) const {
  std::vector<MemoryBand> done;
  std::array<std::vector<MemoryBand>, kMemoryCategories> alive;  // by age
  const auto close = [&](const MemoryBand& band, int column) {
    if (band.first >= column) return;  // was in no column
    done.push_back(band);
    done.back().last = column;
  };
  std::size_t step = 0;  // that `alive` is at
  const auto& shown = columns(width);
  for (int column = 0; column < width; ++column) {
    std::array<bool, kMemoryCategories> changed{};
    const auto end =
        static_cast<std::size_t>(shown[static_cast<std::size_t>(column)] - steps_.data());
    while (step < end) {
      const Change& change = changes_[++step];
      if (change.bytes == 0) continue;
      const auto c = static_cast<std::size_t>(change.category);
      changed[c] = true;
      if (change.bytes > 0) {
        alive[c].push_back({change.buffer, change.category, column, column, -1, change.bytes});
        continue;
      }
      const auto found =
          std::find_if(alive[c].begin(), alive[c].end(),
                       [&](const MemoryBand& band) { return band.buffer == change.buffer; });
      if (found == alive[c].end()) continue;
      close(*found, column);
      alive[c].erase(found);
    }
    for (std::size_t c = 0; c < alive.size(); ++c) {
      if (!changed[c]) continue;
      std::int64_t below = 0;
      for (MemoryBand& band : alive[c]) {
        if (band.below != below) {
          close(band, column);
          band.first = column;
          band.below = below;
        }
        below += band.bytes;
      }
    }
  }
  for (const auto& category : alive) {
    for (const MemoryBand& band : category) close(band, width);
  }
  return done;
}

}  // namespace zero::view
