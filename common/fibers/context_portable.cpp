// Switching between stacks with ucontext: slower (a system call each), but for any processor.
#include <ucontext.h>

#include "common/fibers/context.h"

namespace zero {
namespace {

ucontext_t& state_of(Context& context) {
  if (context.state == nullptr) context.state = new ucontext_t;
  return *static_cast<ucontext_t*>(context.state);
}

}  // namespace

void make_context(Context& context, char* stack, std::size_t bytes, void (*start)()) {
  ucontext_t& state = state_of(context);
  getcontext(&state);
  state.uc_stack.ss_sp = stack;
  state.uc_stack.ss_size = bytes;
  state.uc_link = nullptr;
  makecontext(&state, start, 0);
}

void switch_context(Context& from, Context& to) { swapcontext(&state_of(from), &state_of(to)); }

void free_context(Context& context) {
  delete static_cast<ucontext_t*>(context.state);
  context.state = nullptr;
}

}  // namespace zero
