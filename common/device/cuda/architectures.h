// The GPUs that the kernels were built for.
#pragma once

namespace zero {

// The lowest compute capability of them, as nvcc counts: 800 is 8.0. Newer GPUs run the kernels,
// too; older ones have none to run.
int lowest_architecture();

}  // namespace zero
