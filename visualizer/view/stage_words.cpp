#include "visualizer/view/stage_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "visualizer/view/stage_lanes.h"

namespace zero::view {

std::string short_bytes(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    // 1023.9 of one is 1.00 of the next in three digits.
    if (amount < 999.5) break;
    amount /= 1024;
    unit = larger;
  }
  const int decimals = amount < 9.995 ? 2 : amount < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", amount, decimals, unit);
}

std::string short_change(std::int64_t bytes) {
  return fmt::format("{}{}", bytes < 0 ? "\u2212" : "+", short_bytes(bytes < 0 ? -bytes : bytes));
}

RunBytes bytes_of_run(const replay::World& world) {
  RunBytes most;
  for (const replay::RankState& rank : world.ranks) {
    std::int64_t states = 0;
    for (int c = 0; c < kMemoryCategories; ++c) {
      if (is_model_state(static_cast<Memory>(c))) {
        states += rank.memory[static_cast<std::size_t>(c)].live;
      }
    }
    most.states = std::max(most.states, states);
    most.live = std::max(most.live, rank.total.live);
    most.peak = std::max(most.peak, rank.total.peak);
  }
  return most;
}

}  // namespace zero::view
