// Counts what a thread allocates with operator new, by replacing it in the whole process.
#pragma once

#include <cstdint>

namespace zero::exercise::child {

// Counts in this thread from now on, from 0.
void count_memory();
// Stops. Returns the most bytes that were allocated at one moment since then.
std::int64_t peak_of_memory();

}  // namespace zero::exercise::child
