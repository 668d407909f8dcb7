// The device that the operators' tests are about. A program links one of two definitions:
// cpu_under_test.cpp or gpu_under_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "common/device/device.h"

namespace zero::test {

// `threads` is for the CPU. Ranks share the GPUs that there are.
std::unique_ptr<Device> make_device_under_test(MemoryTracker& tracker, HeapObserver* observer,
                                               bool fill_nan, int rank, int threads);

// The numbers of threads that may make a difference: 1 and 3, or only 1.
std::vector<int> thread_counts();

// Whether attention rounds what lies between two of its products (the weights; backward, the
// gradients of the scores) to the storage type before it multiplies.
bool rounds_between_products();

}  // namespace zero::test
