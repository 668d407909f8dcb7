// Opens what was chosen.
#include "common/train/open_device.h"

#include "common/comm/staged.h"
#include "common/train/gpu.h"

namespace zero {

std::unique_ptr<Device> open_device(const Options& options, const DevicePlan& plan, int rank,
                                    MemoryTracker& tracker, HeapObserver* observer) {
  if (plan.kind == DeviceKind::cpu)
    return make_cpu_device(tracker, observer, options.fill_nan, rank, options.threads);
  return gpu_module().make_device(tracker, observer, options.fill_nan, rank,
                                  plan.gpus.at(static_cast<std::size_t>(rank)));
}

std::unique_ptr<Transport> open_transport(const Options& options, const DevicePlan& plan,
                                          Transport& host, Device& device) {
  if (plan.kind == DeviceKind::cpu) return nullptr;
  if (plan.nccl) return gpu_module().make_nccl_transport(host, device, options.timeout);
  return std::make_unique<StagedTransport>(host, device);
}

}  // namespace zero
