// What every transport has in common: the counters, and the text that names a message.
#include "common/comm/transport.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/comm/communicator.h"

namespace zero {

void Transport::send(const Hop& hop, View data) {
  const Message out{hop, data};
  count_tensor(std::ssize(data.bytes()));
  transfer(&out, nullptr);
}

void Transport::receive(const Hop& hop, View data) {
  const Message in{hop, data};
  transfer(nullptr, &in);
}

void Transport::exchange(const Hop& out_hop, View out_data, const Hop& in_hop, View in_data) {
  const Message out{out_hop, out_data};
  const Message in{in_hop, in_data};
  count_tensor(std::ssize(out_data.bytes()));
  transfer(&out, &in);
}

void Transport::transfer(const Message* out, const Message* in) {
  if (out) start_send(out->hop.destination, out->data.bytes(), &out->hop);
  if (in) receive_bytes(in->hop.source, in->data.bytes(), &in->hop);
  if (out) finish_send(out->hop.destination, &out->hop);
}

void Transport::exchange_scalars(int to, std::span<const std::byte> out, int from,
                                 std::span<std::byte> in, const Hop* during) {
  start_send(to, out, during);
  count_scalar(std::ssize(out));
  receive_bytes(from, in, during);
  finish_send(to, during);
}

void Transport::all_gather_scalars(std::span<const std::byte> mine, std::span<std::byte> all,
                                   const Hop* during) {
  const int K = world_size();
  const auto slot = [&](int owner) {
    return all.subspan(static_cast<std::size_t>(owner) * mine.size(), mine.size());
  };
  std::copy(mine.begin(), mine.end(), slot(rank()).begin());
  // In each round everyone sends to the rank that is `distance` further on: no two wait for each
  // other.
  for (int distance = 1; distance < K; ++distance) {
    const int from = (rank() - distance + K) % K;
    exchange_scalars((rank() + distance) % K, mine, from, slot(from), during);
  }
}

std::unique_ptr<Communicator> Transport::make_library_communicator(Device&, Trace&, Dtype,
                                                                   std::int64_t) {
  throw std::invalid_argument(
      "threads have no collectives of their own: use ring or direct, or start with mpirun");
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
