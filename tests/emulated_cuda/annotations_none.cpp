// Without a sanitizer there is nobody to tell.
#include "annotations.h"

namespace zero::emulator::annotations {

bool has_poison() { return false; }
void poison(const void*, std::size_t) {}
void unpoison(const void*, std::size_t) {}

void release(void*) {}
void acquire(void*) {}

}  // namespace zero::emulator::annotations
