// Switching between stacks on x86-64: what a function must keep is saved, and the stack exchanged.
#include "common/fibers/context.h"

// void zero_switch_context(void** save, void* load), in the calling convention of System V: rbp,
// rbx and r12 to r15 belong to the caller; `ret` goes on where the other stack stood still.
asm(R"(
.text
.globl zero_switch_context
.hidden zero_switch_context
.type zero_switch_context, @function
zero_switch_context:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size zero_switch_context, . - zero_switch_context
)");
extern "C" void zero_switch_context(void** save, void* load);

namespace zero {

void make_context(Context& context, char* stack, std::size_t bytes, void (*start)()) {
  constexpr int kSaved = 6;
  void** top = reinterpret_cast<void**>(stack + bytes - 64);  // a multiple of 16
  *--top = nullptr;  // as if called from nowhere: at `start`, rsp + 8 is a multiple of 16
  *--top = reinterpret_cast<void*>(start);
  for (int i = 0; i < kSaved; ++i) *--top = nullptr;
  context.state = top;
}

void switch_context(Context& from, Context& to) { zero_switch_context(&from.state, to.state); }

void free_context(Context&) {}

}  // namespace zero
