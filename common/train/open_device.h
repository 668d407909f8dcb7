// A rank's device, and what carries tensors between such devices.
#pragma once

#include <memory>

#include "common/comm/transport.h"
#include "common/device/device.h"
#include "common/train/choose_device.h"

namespace zero {

// To be called by the rank's own thread; `host` reaches the other ranks. Takes no tracked memory
// yet.
std::unique_ptr<Device> open_device(const Options& options, const DevicePlan& plan, Transport& host,
                                    MemoryTracker& tracker, HeapObserver* observer);

// Null when `host` reaches the device's memory itself: on the CPU, and in a simulation. Every rank
// must call it. Both `host` and `device` must outlive what it returns.
std::unique_ptr<Transport> open_transport(const Options& options, const DevicePlan& plan,
                                          Transport& host, Device& device);

// The collectives that the options ask for, over `transport`.
std::unique_ptr<Communicator> open_communicator(const Options& options, Transport& transport,
                                                Device& device, Trace& trace);

}  // namespace zero
