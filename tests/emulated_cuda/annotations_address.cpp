// What the address sanitizer is told.
#include <sanitizer/asan_interface.h>

#include "annotations.h"

namespace zero::emulator::annotations {

bool has_poison() { return true; }
void poison(const void* address, std::size_t bytes) { __asan_poison_memory_region(address, bytes); }
void unpoison(const void* address, std::size_t bytes) {
  __asan_unpoison_memory_region(address, bytes);
}

void release(void*) {}
void acquire(void*) {}

}  // namespace zero::emulator::annotations
