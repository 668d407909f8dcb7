// Stacks that the operating system fills page by page.
#include <sys/mman.h>

#include "common/fibers/context.h"

namespace zero {
namespace {

constexpr std::size_t kGuardBytes = 4096;

}  // namespace

char* new_stack(std::size_t bytes) {
  void* memory = mmap(nullptr, kGuardBytes + bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  mprotect(memory, kGuardBytes, PROT_NONE);
  return static_cast<char*>(memory) + kGuardBytes;
}

void free_stack(char* stack, std::size_t bytes) {
  munmap(stack - kGuardBytes, kGuardBytes + bytes);
}

}  // namespace zero
