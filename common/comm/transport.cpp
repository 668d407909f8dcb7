// What every transport has in common: the counters, and the text that names a message.
#include "common/comm/transport.h"

#include <fmt/format.h>

namespace zero {

void Transport::send(const Hop& hop, View data) {
  start_send(hop.destination, data.bytes(), &hop);
  tensor_bytes_ += static_cast<std::int64_t>(data.bytes().size());
  finish_send(hop.destination, &hop);
}

void Transport::receive(const Hop& hop, View data) {
  receive_bytes(hop.source, data.bytes(), &hop);
}

void Transport::exchange(const Hop& out_hop, View out, const Hop& in_hop, View in) {
  start_send(out_hop.destination, out.bytes(), &out_hop);
  tensor_bytes_ += static_cast<std::int64_t>(out.bytes().size());
  receive_bytes(in_hop.source, in.bytes(), &in_hop);
  finish_send(out_hop.destination, &out_hop);
}

void Transport::exchange_scalars(int to, std::span<const std::byte> out, int from,
                                 std::span<std::byte> in, const Hop* during) {
  start_send(to, out, during);
  scalar_bytes_ += static_cast<std::int64_t>(out.size());
  receive_bytes(from, in, during);
  finish_send(to, during);
}

std::string describe(const Hop* hop) {
  if (!hop) return "a control message";
  if (hop->algorithm.empty()) {
    return fmt::format("{} (after collective {})", hop->name, hop->collective);
  }
  if (hop->step == 0) {
    return fmt::format("{} ({}, collective {}, control message)", hop->name, hop->algorithm,
                       hop->collective);
  }
  return fmt::format("{} ({}, collective {}, step {} of {})", hop->name, hop->algorithm,
                     hop->collective, hop->step, hop->steps);
}

}  // namespace zero
