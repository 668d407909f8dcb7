// What the address sanitizer is told.
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#include "common/fibers/sanitizer.h"

namespace zero::sanitizer {

void leave_stack(void** fake_stack, const void* to_stack, std::size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, to_stack, bytes);
}
void arrive_on_stack(void* fake_stack, const void** left_stack, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, left_stack, bytes);
}
void forget_stack(const void* stack, std::size_t bytes) {
  __asan_unpoison_memory_region(stack, bytes);
}

void* create_fiber() { return nullptr; }
void destroy_fiber(void*) {}
void* current_fiber() { return nullptr; }
void switch_to_fiber(void*, Orders) {}

}  // namespace zero::sanitizer
