// The makers of the communicators; each algorithm is a file of its own.
#pragma once

#include <memory>

#include "common/comm/communicator.h"

namespace zero {

std::unique_ptr<Communicator> make_ring_communicator(Transport& transport, Device& device,
                                                     Trace& trace, Dtype wire, std::int64_t chunk);
std::unique_ptr<Communicator> make_direct_communicator(Transport& transport, Device& device,
                                                       Trace& trace, Dtype wire,
                                                       std::int64_t chunk);
// `range` from its element `offset` on, at most `chunk` elements.
inline Range chunk_of(Range range, std::int64_t offset, std::int64_t chunk) {
  return {range.begin + offset, std::min(range.begin + offset + chunk, range.end)};
}

}  // namespace zero
