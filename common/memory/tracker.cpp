// Counting bytes: live, peak, and what was alive at the peak.
#include "common/memory/tracker.h"

#include <fmt/format.h>

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

MemoryTracker::MemoryTracker(const Place& place, std::int64_t budget, bool list_peak)
    : place_(place),
      budget_(budget),
      list_peak_(list_peak),
      peak_place_(place),
      at_peak_now_(list_peak) {}

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
    at_peak_now_ = list_peak_;
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
  if (at_peak_now_) {
    at_peak_ = alive_at_peak();
    at_peak_now_ = false;
  }
  live_[static_cast<int>(found->second.category)] -= found->second.bytes;
  live_total_ -= found->second.bytes;
  alive_.erase(found);
}

std::vector<Allocation> MemoryTracker::alive_at_peak() const {
  if (!at_peak_now_) return at_peak_;
  std::vector<Allocation> result;
  for (const auto& [id, allocation] : alive_) result.push_back(allocation);
  return result;
}

}  // namespace zero
