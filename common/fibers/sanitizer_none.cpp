// Without a sanitizer there is nobody to tell.
#include "common/fibers/sanitizer.h"

namespace zero::sanitizer {

void leave_stack(void**, const void*, std::size_t) {}
void arrive_on_stack(void*, const void**, std::size_t*) {}
void forget_stack(const void*, std::size_t) {}

void* create_fiber() { return nullptr; }
void destroy_fiber(void*) {}
void* current_fiber() { return nullptr; }
void switch_to_fiber(void*, Orders) {}

}  // namespace zero::sanitizer
