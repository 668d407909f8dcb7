// The operators' tests on the CPU.
#include "tests/support/device_under_test.h"

namespace zero::test {

std::unique_ptr<Device> make_device_under_test(MemoryTracker& tracker, HeapObserver* observer,
                                               bool fill_nan, int rank, int threads) {
  return make_cpu_device(tracker, observer, fill_nan, rank, threads);
}

std::vector<int> thread_counts() { return {1, 3}; }

bool rounds_between_products() { return false; }

}  // namespace zero::test
