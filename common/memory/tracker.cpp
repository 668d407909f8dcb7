// Counting bytes: live, peak, and what was alive at the peak.
#include "common/memory/tracker.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/memory/bytes.h"

namespace zero {

std::string_view to_string(Memory category) {
  switch (category) {
    case Memory::parameters:
      return "parameters";
    case Memory::gradients:
      return "gradients";
    case Memory::optimizer_states:
      return "optimizer_states";
    case Memory::activations:
      return "activations";
    case Memory::temporary:
      return "temporary";
    case Memory::communication:
      return "communication";
    case Memory::workspace:
      return "workspace";
  }
  return "unknown";
}

MemoryTracker::MemoryTracker(const Place& place, std::int64_t budget)
    : place_(place), budget_(budget), peak_place_(place) {}

Allocation MemoryTracker::allocate(Allocation allocation) {
  if (allocation.bytes > budget_ - live_total_) {
    throw refusal(allocation,
                  fmt::format("of the budget of {} only {} are free", format_bytes(budget_),
                              format_bytes(budget_ - live_total_)),
                  budget_);
  }
  const int c = static_cast<int>(allocation.category);
  allocation.id = next_id_++;
  live_[c] += allocation.bytes;
  peak_[c] = std::max(peak_[c], live_[c]);
  live_total_ += allocation.bytes;
  if (live_total_ > peak_total_) {
    peak_total_ = live_total_;
    peak_place_ = place_;
    last_id_at_peak_ = allocation.id;
    released_since_peak_.clear();
  }
  alive_.emplace(allocation.id, allocation);
  return allocation;
}

OutOfMemory MemoryTracker::refusal(const Allocation& allocation, std::string_view why,
                                   std::int64_t room) const {
  std::string alive;
  for (int c = 0; c < kMemoryCategories; ++c) {
    if (live_[c] == 0) continue;
    alive += fmt::format("{}{} {}", alive.empty() ? "" : ", ", to_string(static_cast<Memory>(c)),
                         format_bytes(live_[c]));
  }
  OutOfMemory error(fmt::format("out of memory: \"{}\" ({}) needs {}, but {}; alive: {}",
                                allocation.name, to_string(allocation.category),
                                format_bytes(allocation.bytes), why,
                                alive.empty() ? "nothing" : alive));
  const auto needed = [&](Memory category) {
    return live(category) + (allocation.category == category ? allocation.bytes : 0);
  };
  error.room = room;
  error.activations = needed(Memory::activations);
  error.others =
      needed(Memory::temporary) + needed(Memory::communication) + needed(Memory::workspace);
  return error;
}

void MemoryTracker::release(std::int64_t id) {
  const auto found = alive_.find(id);
  if (found == alive_.end()) throw std::logic_error(fmt::format("allocation {} is not alive", id));
  live_[static_cast<int>(found->second.category)] -= found->second.bytes;
  live_total_ -= found->second.bytes;
  if (id <= last_id_at_peak_) released_since_peak_.push_back(std::move(found->second));
  alive_.erase(found);
}

std::vector<Allocation> MemoryTracker::alive_at_peak() const {
  std::vector<Allocation> result = released_since_peak_;
  for (const auto& [id, allocation] : alive_) {
    if (id <= last_id_at_peak_) result.push_back(allocation);
  }
  std::sort(result.begin(), result.end(),
            [](const Allocation& a, const Allocation& b) { return a.id < b.id; });
  return result;
}

}  // namespace zero
