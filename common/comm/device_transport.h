// What transports for a device's tensors have in common: everything else goes through the host.
#pragma once

#include "common/comm/transport.h"

namespace zero {

// Scalars, control messages and failures travel by another transport, which must outlive it.
class DeviceTransport : public Transport {
 public:
  explicit DeviceTransport(Transport& host) : host_(host) {}

  int rank() const override { return host_.rank(); }
  int world_size() const override { return host_.world_size(); }
  void abort(const std::string& reason) noexcept override { host_.abort(reason); }
  void check_peers(const Hop* hop) override { host_.check_peers(hop); }

  void start_send(int to, std::span<const std::byte> bytes, const Hop* hop) override {
    host_.start_send(to, bytes, hop);
  }
  void finish_send(int to, const Hop* hop) override { host_.finish_send(to, hop); }
  void receive_bytes(int from, std::span<std::byte> bytes, const Hop* hop) override {
    host_.receive_bytes(from, bytes, hop);
  }

 protected:
  void transfer(const Message* out, const Message* in) override = 0;

  Transport& host_;
};

}  // namespace zero
