// One message of a collective, as the transport carries it and the trace tells it.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/memory/range.h"

namespace zero {

// What the receiver does with what arrives.
enum class Effect {
  copy,  // it replaces what was there
  add    // it is added to the receiver's own values, or to a sum
};

struct Hop {
  std::int64_t collective = 0;  // 1, 2, 3, ...: the same number on every rank
  std::string_view name;        // "reduce_scatter"
  std::string_view algorithm;   // "ring", "direct", "library"
  int step = 1, steps = 1;      // step i of n, from 1
  std::int64_t chunk = 0;       // which chunk of the range, from 0
  int source = 0, destination = 0;
  Effect effect = Effect::copy;
  Range range;  // positions of the flat vector
};

}  // namespace zero
