// NCCL between ranks that each have a GPU of their own.
#pragma once

#include <memory>

#include "common/comm/transport.h"
#include "common/device/cuda/cuda_device.h"

namespace zero {

bool has_nccl();  // false: no_nccl.cpp

// Tensors travel through NCCL, on the device's stream; `host` carries the scalars and must outlive
// it, as the device must. Every rank of the group calls it. Throws std::runtime_error when the
// communicator cannot be made in time. Null when built without NCCL (no_nccl.cpp).
std::unique_ptr<Transport> make_nccl_transport(Transport& host, CudaDevice& device,
                                               double timeout_seconds);

}  // namespace zero
