// The operators' tests on the GPU, or the emulated one: the module that ZERO_GPU_LIBRARY names.
#include "common/train/gpu.h"
#include "tests/support/device_under_test.h"

namespace zero::test {

std::unique_ptr<Device> make_device_under_test(MemoryTracker& tracker, HeapObserver* observer,
                                               bool fill_nan, int rank, int) {
  GpuModule& module = gpu_module();
  return module.make_device(tracker, observer, fill_nan, rank, rank % module.count());
}

std::vector<int> thread_counts() { return {1}; }

bool rounds_between_products() { return true; }

}  // namespace zero::test
