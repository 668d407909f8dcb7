// Which receive belongs to which send, by the message's own key: never by clocks.
#pragma once

#include <cstddef>
#include <vector>

#include "common/trace/reader.h"

namespace zero {

// An event of a run: run.ranks[rank].events[index].
struct EventPlace {
  std::size_t rank = 0;
  std::size_t index = 0;
};

struct Message {
  EventPlace send, receive;
};

struct Matched {
  std::vector<Message> messages;           // in order of their receives, rank by rank
  std::vector<EventPlace> never_received;  // the receiver died, or its trace ends earlier
  std::vector<EventPlace> never_sent;      // the sender's trace ends earlier, or is not there
};

// The n-th send with a key (collective, step, chunk, source, destination) belongs to the n-th
// receive with it.
Matched match_messages(const RunTrace& run);

}  // namespace zero
