// Opens what was chosen.
#include "common/train/open_device.h"

#include "common/comm/ring_time.h"
#include "common/comm/simulated.h"
#include "common/comm/staged.h"
#include "common/device/simulated/simulated_device.h"
#include "common/train/gpu.h"

namespace zero {

std::unique_ptr<Device> open_device(const Options& options, const DevicePlan& plan, Transport& host,
                                    MemoryTracker& tracker, HeapObserver* observer) {
  const int rank = host.rank();
  if (plan.kind == DeviceKind::cpu)
    return make_cpu_device(tracker, observer, options.fill_nan, rank, options.threads);
  if (plan.kind == DeviceKind::simulated) {
    return make_simulated_device(tracker, observer, options.simulation.hardware.gpu,
                                 host.world_size(), *host.virtual_clock());
  }
  return gpu_module().make_device(tracker, observer, options.fill_nan, rank,
                                  plan.gpus.at(static_cast<std::size_t>(rank)));
}

std::unique_ptr<Transport> open_transport(const Options& options, const DevicePlan& plan,
                                          Transport& host, Device& device) {
  if (plan.kind == DeviceKind::cpu || plan.kind == DeviceKind::simulated) return nullptr;
  if (plan.nccl) return gpu_module().make_nccl_transport(host, device, options.timeout);
  return std::make_unique<StagedTransport>(host, device);
}

std::unique_ptr<Communicator> open_communicator(const Options& options, Transport& transport,
                                                Device& device, Trace& trace) {
  const bool simulated = options.device == DeviceKind::simulated;
  const std::int64_t usual = simulated ? options.simulation.chunk : transport.chunk();
  const std::int64_t chunk = options.chunk > 0 ? options.chunk : usual;
  if (!simulated || !options.simulation.closed_form) {
    return make_communicator(options.collectives, transport, device, trace, options.dtype, chunk);
  }
  return make_ring_time_communicator(dynamic_cast<SimulatedTransport&>(transport), device, trace,
                                     options.dtype, chunk);
}

}  // namespace zero
