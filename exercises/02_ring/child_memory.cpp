// Replaces operator new and delete: the bytes that this thread holds, and the most it has held.
#include "exercises/02_ring/child_memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

thread_local bool counting = false;
thread_local std::int64_t held = 0;  // bytes
thread_local std::int64_t peak = 0;

// The size stands before the memory that is handed out, in a header which keeps its alignment.
constexpr std::size_t kHeader = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

void* allocate(std::size_t size, std::size_t header) {
  // aligned_alloc wants a multiple of the alignment.
  const std::size_t whole = (size / header + 2) * header;
  void* const memory =
      size > PTRDIFF_MAX - 4 * header ? nullptr : std::aligned_alloc(header, whole);
  if (!memory) throw std::bad_alloc();
  *static_cast<std::size_t*>(memory) = size;
  if (counting) {
    held += static_cast<std::int64_t>(size);
    peak = std::max(peak, held);
  }
  return static_cast<char*>(memory) + header;
}

void release(void* memory, std::size_t header) {
  if (!memory) return;
  void* const begin = static_cast<char*>(memory) - header;
  if (counting) held -= static_cast<std::int64_t>(*static_cast<std::size_t*>(begin));
  std::free(begin);
}

std::size_t header_of(std::align_val_t alignment) {
  return std::max(kHeader, static_cast<std::size_t>(alignment));
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, kHeader); }
void* operator new[](std::size_t size) { return allocate(size, kHeader); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, header_of(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, header_of(alignment));
}
void operator delete(void* memory) noexcept { release(memory, kHeader); }
void operator delete[](void* memory) noexcept { release(memory, kHeader); }
void operator delete(void* memory, std::size_t) noexcept { release(memory, kHeader); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory, kHeader); }
void operator delete(void* memory, std::align_val_t alignment) noexcept {
  release(memory, header_of(alignment));
}
void operator delete[](void* memory, std::align_val_t alignment) noexcept {
  release(memory, header_of(alignment));
}
void operator delete(void* memory, std::size_t, std::align_val_t alignment) noexcept {
  release(memory, header_of(alignment));
}
void operator delete[](void* memory, std::size_t, std::align_val_t alignment) noexcept {
  release(memory, header_of(alignment));
}

namespace zero::exercise::child {

void count_memory() {
  held = peak = 0;
  counting = true;
}

std::int64_t peak_of_memory() {
  counting = false;
  return peak;
}

}  // namespace zero::exercise::child
