// What the sanitizers must be told: that stacks are switched. One of sanitizer_none.cpp,
// sanitizer_address.cpp, sanitizer_thread.cpp is linked.
#pragma once

#include <cstddef>

namespace zero::sanitizer {

// ---- address sanitizer ----
// Before a switch to another stack; `fake_stack` keeps the sanitizer's own part of this one
// (nullptr: this stack is done with).
void leave_stack(void** fake_stack, const void* to_stack, std::size_t bytes);
// After a switch, on the stack that goes on; tells which stack was left.
void arrive_on_stack(void* fake_stack, const void** left_stack, std::size_t* bytes);
// Before a stack is given back: what lived there is forgotten.
void forget_stack(const void* stack, std::size_t bytes);

// ---- thread sanitizer ----
// Each fiber is a thread of its own to the sanitizer.
void* create_fiber();
void destroy_fiber(void* fiber);
void* current_fiber();
// Whether what was done before the switch happens before what is done after it: with `no`, races
// between fibers are found, which would be hidden because they never run at the same time.
enum class Orders { yes, no };
void switch_to_fiber(void* fiber, Orders orders);

}  // namespace zero::sanitizer
