// Tensors that travel through the host: for ranks whose device memory no network can reach, and for
// several ranks on one GPU.
#pragma once

#include <vector>

#include "common/comm/transport.h"
#include "common/device/device.h"

namespace zero {

// Copies a message from the device to the host, sends it there, and copies it to the other device.
// What waits on the way is one message in each direction, a chunk at most.
class StagedTransport : public Transport {
 public:
  // Both must outlive it.
  StagedTransport(Transport& host, Device& device) : host_(host), device_(device) {}

  int rank() const override { return host_.rank(); }
  int world_size() const override { return host_.world_size(); }
  int local_rank() const override { return host_.local_rank(); }
  // std::invalid_argument: MPI's collectives do not reach the device either.
  std::unique_ptr<Communicator> make_library_communicator(Device& device, Trace& trace, Dtype wire,
                                                          std::int64_t chunk) override;
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
  void transfer(const Message* out, const Message* in) override;

 private:
  Transport& host_;
  Device& device_;
  std::vector<std::byte> out_, in_;
};

}  // namespace zero
