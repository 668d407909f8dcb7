// What the sanitizers must be told: when device memory may be touched, and what is ordered. (That
// fibers are switched, common/fibers/sanitizer.h tells them.) One of annotations_none.cpp,
// annotations_address.cpp, annotations_thread.cpp is linked.
#pragma once

#include <cstddef>

namespace zero::emulator::annotations {

// ---- address sanitizer ----
bool has_poison();  // whether poison() does anything
void poison(const void* address, std::size_t bytes);
void unpoison(const void* address, std::size_t bytes);

// ---- thread sanitizer ----
// What was done before release(x) happens before what is done after acquire(x).
void release(void* address);
void acquire(void* address);

}  // namespace zero::emulator::annotations
