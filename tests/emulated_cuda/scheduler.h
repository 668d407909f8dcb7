// Running the threads of a block.
#pragma once

#include <functional>
#include <random>

#include "emulator.h"

namespace zero::emulator {

// Runs a block of so many threads on the calling thread of the host; blockIdx, blockDim and gridDim
// are set.
void run_block(int threads, dim3 shape, const std::function<void()>& thread,
               std::minstd_rand& random);

}  // namespace zero::emulator
