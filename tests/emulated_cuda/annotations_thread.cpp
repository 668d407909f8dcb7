// What the thread sanitizer is told.
#include <sanitizer/tsan_interface.h>

#include "annotations.h"

namespace zero::emulator::annotations {

bool has_poison() { return false; }
void poison(const void*, std::size_t) {}
void unpoison(const void*, std::size_t) {}

void release(void* address) { __tsan_release(address); }
void acquire(void* address) { __tsan_acquire(address); }

}  // namespace zero::emulator::annotations
