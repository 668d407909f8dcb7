// Bytes in few words, for headings.
#pragma once

#include <cstdint>
#include <string>

#include "visualizer/replay/world.h"

namespace zero::view {

// "4.52 MiB", "13.8 KiB", "512 B": three digits.
std::string short_bytes(std::int64_t bytes);
std::string short_change(std::int64_t bytes);  // "+1.00 KiB", "−4.52 MiB"

// Of the GPU that has most of it.
struct RunBytes {
  std::int64_t states = 0;  // of the model: parameters, gradients, optimizer states
  std::int64_t live = 0, peak = 0;
};
RunBytes bytes_of_run(const replay::World& world);

}  // namespace zero::view
