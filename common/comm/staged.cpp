// Down to the host, across, and up again.
#include "common/comm/staged.h"

#include "common/comm/communicator.h"

namespace zero {

std::unique_ptr<Communicator> StagedTransport::make_library_communicator(Device&, Trace&, Dtype,
                                                                         std::int64_t) {
  throw std::invalid_argument(
      "ranks whose tensors travel through the host have no collectives of their own (NCCL needs a "
      "GPU for each rank): use ring or direct");
}

void StagedTransport::transfer(const Message* out, const Message* in) {
  if (out) {
    out_.resize(out->data.bytes().size());
    device_.download(out->data, out_);
    host_.start_send(out->hop.destination, out_, &out->hop);
  }
  if (in) {
    in_.resize(in->data.bytes().size());
    host_.receive_bytes(in->hop.source, in_, &in->hop);
  }
  if (out) host_.finish_send(out->hop.destination, &out->hop);
  if (in) device_.upload(in_, in->data);
}

}  // namespace zero
