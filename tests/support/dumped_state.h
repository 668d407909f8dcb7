// Reading what --dump-state wrote: one state, whole, from whichever ranks hold its parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zero {

// The bits of every element of `state` ("parameters", "master", "exp_avg", "exp_avg_sq"), padding
// included. std::runtime_error when a position is missing, or two ranks hold different bits.
std::vector<std::uint32_t> read_state(const std::string& folder, const std::string& state);

}  // namespace zero
