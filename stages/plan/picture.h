// What fills a GPU, stage by stage, as an SVG for a slide.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "common/memory/tracker.h"
#include "stages/plan/plan.h"

namespace zero {

// Stacked bars, all of one scale. A bar that is much higher than the memory is cut off.
struct Picture {
  struct Bar {
    std::string name;                                     // "ZeRO-2"
    std::array<std::int64_t, kMemoryCategories> parts{};  // bytes, by Memory
    std::int64_t total = 0;  // bytes; the parts' peaks may add up to more
  };
  std::string title, subtitle, note;
  std::string memory_name;  // "H100"
  std::int64_t memory = 0;  // bytes
  std::vector<Bar> bars;    // at least one
};

Picture picture_of(const PlanOptions& options, const Plan& plan);
// By the formulas alone: the first of options' numbers.
Picture picture_of_states(const PlanOptions& options);

std::string svg(const Picture& picture);

}  // namespace zero
