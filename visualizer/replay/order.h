// One order of all ranks' events, in which every receive comes after its send.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "visualizer/replay/log.h"

namespace zero::replay {

// Which of the orders that respect each rank's own and put every receive after its send.
enum class Order {
  logical,  // ranks advance together: an event's time is 1 + the later of the event before it on
            // its rank and, for a receive, its send (Lamport's clock); all ranks begin their n-th
            // step together, when all have done all of the one before it
  measured  // by the ranks' clocks, set against each other so that no receive is before its send
};

// An event's place in the order.
struct Placed {
  int rank = 0;
  std::uint32_t index = 0;  // in its rank's list
  std::int64_t time = 0;    // ticks or nanoseconds: never decreases along the order
};

struct Ordered {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::vector<Placed> events;
  std::vector<std::vector<std::uint32_t>> index;  // by rank and own index: where it is in `events`
  // Of a send its receive, of a receive its send, both places in `events`; kNone: there is none.
  std::vector<std::uint32_t> partner;
  std::vector<std::string> notes;
};

// Deterministic. The n-th send with a key (collective, step, chunk, source, destination) belongs to
// the n-th receive with it; clocks play no part in that. Requires fewer than kNone events.
Ordered put_in_order(const RunLog& log, Order order);

}  // namespace zero::replay
