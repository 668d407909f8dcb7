// A context: where a stack of its own stands still, and how to go on there.
// context_x86_64.cpp is ten instructions; context_portable.cpp is for other processors.
#pragma once

#include <cstddef>

namespace zero {

struct Context {
  void* state = nullptr;  // x86-64: the stack pointer; elsewhere a ucontext_t, made when needed
};

// Lets the next switch to `context` call `start`, which must not return, on this stack.
void make_context(Context& context, char* stack, std::size_t bytes, void (*start)());
// Stores where we are in `from` and goes on in `to`; returns when somebody switches back.
void switch_context(Context& from, Context& to);
// Gives back what a context holds beside its stack. Nobody may switch to it any more.
void free_context(Context& context);

// A new stack, with a page before it that may not be touched: what overflows ends the program. The
// operating system gives it memory where it is used. Null when there is none.
char* new_stack(std::size_t bytes);
void free_stack(char* stack, std::size_t bytes);

}  // namespace zero
