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

MemoryTracker::MemoryTracker(const Place& place, std::int64_t budget)
    : place_(place), budget_(budget), peak_place_(place) {}

Allocation MemoryTracker::allocate(Allocation allocation) {
  if (allocation.bytes > budget_ - live_total_) {
    std::string alive;
    for (int c = 0; c < kMemoryCategories; ++c) {
      if (live_[c] == 0) continue;
      alive += fmt::format("{}{} {}", alive.empty() ? "" : ", ", to_string(static_cast<Memory>(c)),
                           format_bytes(live_[c]));
    }
    std::int64_t beside_states = live_total_;
    for (const Memory state : {Memory::parameters, Memory::gradients, Memory::optimizer_states}) {
      beside_states -= live(state);
      if (allocation.category == state) beside_states -= allocation.bytes;
    }
    beside_states += allocation.bytes;
    const std::string message = fmt::format(
        "out of memory: \"{}\" ({}) needs {}, but of the budget of {} only {} are free; alive: {}",
        allocation.name, to_string(allocation.category), format_bytes(allocation.bytes),
        format_bytes(budget_), format_bytes(budget_ - live_total_),
        alive.empty() ? "nothing" : alive);
    throw OutOfMemory(message, beside_states);
  }
  const int c = static_cast<int>(allocation.category);
  allocation.id = next_id_++;
  live_[c] += allocation.bytes;
  peak_[c] = std::max(peak_[c], live_[c]);
  live_total_ += allocation.bytes;
  if (live_total_ > peak_total_) {
    peak_total_ = live_total_;
    peak_place_ = place_;
    at_peak_now_ = true;
  }
  alive_.emplace(allocation.id, allocation);
  return allocation;
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
