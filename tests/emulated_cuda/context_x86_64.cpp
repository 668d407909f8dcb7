// Switching between stacks on x86-64: what a function must keep is saved, and the stack exchanged.
#include "context.h"

// void zero_emulator_switch(void** save, void* load), in the calling convention of System V: rbp,
// rbx and r12 to r15 belong to the caller; `ret` goes on where the other stack stood still.
asm(R"(
.text
.globl zero_emulator_switch
.hidden zero_emulator_switch
.type zero_emulator_switch, @function
zero_emulator_switch:
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
.size zero_emulator_switch, . - zero_emulator_switch
)");
extern "C" void zero_emulator_switch(void** save, void* load);

namespace zero::emulator {

void make_context(Context& context, char* stack, std::size_t bytes, void (*start)()) {
  constexpr int kSaved = 6;
  void** top = reinterpret_cast<void**>(stack + bytes - 64);  // a multiple of 16
  *--top = nullptr;  // as if called from nowhere: at `start`, rsp + 8 is a multiple of 16
  *--top = reinterpret_cast<void*>(start);
  for (int i = 0; i < kSaved; ++i) *--top = nullptr;
  context.state = top;
}

void switch_context(Context& from, Context& to) { zero_emulator_switch(&from.state, to.state); }

}  // namespace zero::emulator
