// What the thread sanitizer is told.
#include <sanitizer/tsan_interface.h>

#include "common/fibers/sanitizer.h"

namespace zero::sanitizer {

void leave_stack(void**, const void*, std::size_t) {}
void arrive_on_stack(void*, const void**, std::size_t*) {}
void forget_stack(const void*, std::size_t) {}

void* create_fiber() { return __tsan_create_fiber(0); }
void destroy_fiber(void* fiber) { __tsan_destroy_fiber(fiber); }
void* current_fiber() { return __tsan_get_current_fiber(); }
void switch_to_fiber(void* fiber, Orders orders) {
  __tsan_switch_to_fiber(fiber, orders == Orders::yes ? 0 : __tsan_switch_to_fiber_no_sync);
}

}  // namespace zero::sanitizer
