// Messages through NCCL; scalars through the host.
#include "common/comm/nccl_transport.h"

#include "common/comm/device_transport.h"
#include "common/comm/nccl_connection.h"
#include "common/comm/nccl_library.h"

namespace zero {
namespace {

class NcclTransport : public DeviceTransport {
 public:
  NcclTransport(Transport& host, CudaDevice& device, double timeout_seconds)
      : DeviceTransport(host), nccl_(host, device, timeout_seconds) {}

  // 4 MiB of fp32: a message costs a launch, some 10 microseconds, in which NVLink carries MiBs.
  std::int64_t chunk() const override { return kGpuChunk; }
  std::unique_ptr<Communicator> make_library_communicator(Device& device, Trace& trace, Dtype wire,
                                                          std::int64_t chunk) override {
    return make_nccl_library_communicator(*this, nccl_, device, trace, wire, chunk);
  }

  void abort(const std::string& reason) noexcept override;

 protected:
  void transfer(const Message* out, const Message* in) override;

 private:
  NcclConnection nccl_;
};

// The host first: NCCL's abort may wait until the other ranks abort too.
void NcclTransport::abort(const std::string& reason) noexcept {
  host_.abort(reason);
  nccl_.abort();
}

// Both in one group, so that NCCL moves them at the same time: ranks that all send first would wait
// for each other. A lone one is in a group too: without, NCCL may say that it is in the stream when
// it is not yet.
void NcclTransport::transfer(const Message* out, const Message* in) {
  if (!out && !in) return;
  const int peer = in ? in->hop.source : out->hop.destination;
  nccl_.submit(in ? in->hop : out->hop, peer, "ncclSend and ncclRecv", [&] {
    ncclResult_t result = ncclSuccess;
    if (out) {
      result = ncclSend(out->data.data(), static_cast<std::size_t>(out->data.size()),
                        nccl_type(out->data.dtype()), out->hop.destination, nccl_.comm(),
                        nccl_.stream());
    }
    if (in && (result == ncclSuccess || result == ncclInProgress)) {
      result = ncclRecv(in->data.data(), static_cast<std::size_t>(in->data.size()),
                        nccl_type(in->data.dtype()), in->hop.source, nccl_.comm(), nccl_.stream());
    }
    return result;
  });
}

}  // namespace

std::unique_ptr<Transport> make_nccl_transport(Transport& host, CudaDevice& device,
                                               double timeout_seconds) {
  return std::make_unique<NcclTransport>(host, device, timeout_seconds);
}

}  // namespace zero
