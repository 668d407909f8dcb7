// Without a sanitizer there is nobody to tell.
#include "annotations.h"

namespace zero::emulator::annotations {

bool has_poison() { return false; }
void poison(const void*, std::size_t) {}
void unpoison(const void*, std::size_t) {}
void leave_stack(void**, const void*, std::size_t) {}
void arrive_on_stack(void*, const void**, std::size_t*) {}

void* create_fiber() { return nullptr; }
void* current_fiber() { return nullptr; }
void switch_to_fiber(void*) {}
void release(void*) {}
void acquire(void*) {}

}  // namespace zero::emulator::annotations
