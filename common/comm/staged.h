// Tensors that travel through the host: for ranks whose device memory no network can reach, and for
// several ranks on one GPU.
#pragma once

#include <vector>

#include "common/comm/device_transport.h"
#include "common/device/device.h"

namespace zero {

// Copies a message from the device to the host, sends it there, and copies it to the other device.
// What waits on the way is one message in each direction, a chunk at most.
class StagedTransport : public DeviceTransport {
 public:
  // Both must outlive it.
  StagedTransport(Transport& host, Device& device) : DeviceTransport(host), device_(device) {}

  // std::invalid_argument: MPI's collectives do not reach the device either.
  std::unique_ptr<Communicator> make_library_communicator(Device& device, Trace& trace, Dtype wire,
                                                          std::int64_t chunk) override;

 protected:
  void transfer(const Message* out, const Message* in) override;

 private:
  Device& device_;
  std::vector<std::byte> out_, in_;
};

}  // namespace zero
