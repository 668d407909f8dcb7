// The fingerprint of a state: one 64-bit number that does not depend on how the state is cut.
#pragma once

#include <cstdint>

#include "common/memory/buffer.h"

namespace zero {

// Which state an element belongs to; part of its hash.
enum class State : std::uint64_t { exp_avg = 1, exp_avg_sq = 2, master = 3, parameters = 4 };

// The sum, modulo 2^64, over the view's elements at positions below `end` of
// hash(state, position, bits). A sum, so that the fingerprints of the shards add up to that of the
// whole, however it is cut; `end` leaves the padding out. 0 where no values are stored.
std::uint64_t fingerprint(View view, State state, std::int64_t end);

}  // namespace zero
