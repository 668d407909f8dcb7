// What the thread sanitizer is told.
#include <sanitizer/tsan_interface.h>

#include "annotations.h"

namespace zero::emulator::annotations {

bool has_poison() { return false; }
void poison(const void*, std::size_t) {}
void unpoison(const void*, std::size_t) {}
void leave_stack(void**, const void*, std::size_t) {}
void arrive_on_stack(void*, const void**, std::size_t*) {}

void* create_fiber() { return __tsan_create_fiber(0); }
void* current_fiber() { return __tsan_get_current_fiber(); }
void switch_to_fiber(void* fiber) { __tsan_switch_to_fiber(fiber, __tsan_switch_to_fiber_no_sync); }
void release(void* address) { __tsan_release(address); }
void acquire(void* address) { __tsan_acquire(address); }

}  // namespace zero::emulator::annotations
