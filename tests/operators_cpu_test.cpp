// What only the CPU device has: a bound of its workspace.
#include "tests/operators_run_all.h"

using namespace zero;
using namespace zero::test;

TEST_CASE("the workspace stays within the documented bound, however many rows there are") {
  for (const Dtype dtype : kTypes) {
    const auto workspace = [&](int B, int T, int C, int V) {
      Fixture fixture;
      run_all(fixture, dtype, B, T, C, 2, V);
      return fixture.tracker.peak(Memory::workspace);
    };
    const std::int64_t bound = 4 * (2 * 512 * 1024 + 512 * 512);
    CHECK(workspace(32, 65, 64, 1500) <= bound);
    CHECK(workspace(64, 65, 64, 1500) == workspace(32, 65, 64, 1500));  // rows
    CHECK(workspace(32, 65, 64, 3000) == workspace(32, 65, 64, 1500));  // parameters
    CHECK(workspace(2, 150, 32, 7) <= std::max(bound, std::int64_t{4} * (792 * 16 + 128 * 150)));
  }
  Fixture fixture;  // fp32 reads and writes the views themselves
  const Buffer x = fixture.holding(Dtype::fp32, Values(700 * 70, 1));
  Buffer out = fixture.fresh(Dtype::fp32, 700 * 700);
  fixture.device->linear_forward(out, x, x, View(), 700, 70, 700);
  CHECK(fixture.tracker.peak(Memory::workspace) == 0);
}
