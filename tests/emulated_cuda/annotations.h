// What the sanitizers must be told: that fibers are switched, and when device memory may be
// touched. One of annotations_none.cpp, annotations_address.cpp, annotations_thread.cpp is linked.
#pragma once

#include <cstddef>

namespace zero::emulator::annotations {

// ---- address sanitizer
// ---------------------------------------------------------------------------
bool has_poison();  // whether poison() does anything
void poison(const void* address, std::size_t bytes);
void unpoison(const void* address, std::size_t bytes);

// Before a switch to another stack; `fake_stack` keeps the sanitizer's own part of this one
// (nullptr: this stack is done with).
void leave_stack(void** fake_stack, const void* to_stack, std::size_t bytes);
// After a switch, on the stack that goes on; tells which stack was left.
void arrive_on_stack(void* fake_stack, const void** left_stack, std::size_t* bytes);

// ---- thread sanitizer
// ---------------------------------------------------------------------------- Each fiber is a
// thread of its own to the sanitizer, else it would find no race between fibers.
void* create_fiber();
void* current_fiber();
void switch_to_fiber(void* fiber);  // by itself orders nothing
// What was done before release(x) happens before what is done after acquire(x).
void release(void* address);
void acquire(void* address);

}  // namespace zero::emulator::annotations
