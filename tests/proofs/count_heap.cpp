// Loaded in front of the C library (LD_PRELOAD): counts every byte of heap that a process holds.
//
// Two kinds are told apart by how they are asked for, with no help from the program:
//   aligned    aligned_alloc, and mmap by the program itself: how a device takes its memory
//   other      malloc, new, and mmap by libraries: everything else
// Each time the program flushes its standard output, which it does once an iteration, a line goes
// to the file $ZERO_COUNT_FILE: what both kinds hold, and their peaks, since the line before
// ("peak") and since the start ("top"). A last line is written when the program exits.
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

// glibc's own functions, under the names that are not interposed.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* block);
}

namespace {

// Of bytes that are held.
class Level {
 public:
  void add(std::int64_t bytes) {
    const std::int64_t now = live_.fetch_add(bytes) + bytes;
    raise(peak_, now);
    raise(top_, now);
  }
  std::int64_t live() const { return live_; }
  std::int64_t top() const { return top_; }
  std::int64_t take_peak() { return peak_.exchange(live_); }

 private:
  static void raise(std::atomic<std::int64_t>& level, std::int64_t to) {
    std::int64_t was = level;
    while (was < to && !level.compare_exchange_weak(was, to)) {
    }
  }

  std::atomic<std::int64_t> live_ = 0, peak_ = 0, top_ = 0;
};

template <class T>
struct UncountedAllocator {
  using value_type = T;
  UncountedAllocator() = default;
  template <class U>
  UncountedAllocator(const UncountedAllocator<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(__libc_malloc(count * sizeof(T))); }
  void deallocate(T* block, std::size_t) { __libc_free(block); }
  bool operator==(const UncountedAllocator&) const { return true; }
};

struct State {
  Level aligned, other;
  std::mutex mutex;
  // The aligned blocks: when one is freed it must be known for what it is.
  std::unordered_map<void*, std::int64_t, std::hash<void*>, std::equal_to<void*>,
                     UncountedAllocator<std::pair<void* const, std::int64_t>>>
      aligned_blocks;
};

// Never destroyed: blocks are freed until the very end.
State& state() {
  alignas(State) static unsigned char memory[sizeof(State)];
  static State* const made = new (memory) State;
  return *made;
}

std::int64_t size_of(void* block) { return static_cast<std::int64_t>(malloc_usable_size(block)); }

void* counted(void* block) {
  if (block) state().other.add(size_of(block));
  return block;
}

void* counted_aligned(void* block, std::size_t size) {
  if (!block) return block;
  state().aligned.add(static_cast<std::int64_t>(size));
  const std::lock_guard lock(state().mutex);
  state().aligned_blocks[block] = static_cast<std::int64_t>(size);
  return block;
}

void forget(void* block) {
  if (!block) return;
  {
    const std::lock_guard lock(state().mutex);
    const auto found = state().aligned_blocks.find(block);
    if (found != state().aligned_blocks.end()) {
      state().aligned.add(-found->second);
      state().aligned_blocks.erase(found);
      return;
    }
  }
  state().other.add(-size_of(block));
}

// The program itself is the first object that was loaded, and has no name.
bool called_by_program(const void* caller) {
  Dl_info info;
  void* entry = nullptr;
  if (!dladdr1(caller, &info, &entry, RTLD_DL_LINKMAP) || !entry) return false;
  return static_cast<const link_map*>(entry)->l_name[0] == '\0';
}

Level& level_of(const void* caller) {
  return called_by_program(caller) ? state().aligned : state().other;
}

void sample() {
  const char* const path = std::getenv("ZERO_COUNT_FILE");
  if (!path) return;
  Level &aligned = state().aligned, &other = state().other;
  char line[256];
  const int length = std::snprintf(
      line, sizeof line,
      "{\"aligned\": {\"live\": %lld, \"peak\": %lld, \"top\": %lld}, "
      "\"other\": {\"live\": %lld, \"peak\": %lld, \"top\": %lld}}\n",
      static_cast<long long>(aligned.live()), static_cast<long long>(aligned.take_peak()),
      static_cast<long long>(aligned.top()), static_cast<long long>(other.live()),
      static_cast<long long>(other.take_peak()), static_cast<long long>(other.top()));
  // Not through a FILE, which would allocate.
  static std::FILE* const file = std::fopen(path, "a");
  if (!file || write(fileno(file), line, static_cast<std::size_t>(length)) != length) std::abort();
}

[[gnu::destructor]] void at_exit() { sample(); }

}  // namespace

extern "C" {

void* malloc(std::size_t size) { return counted(__libc_malloc(size)); }

void* calloc(std::size_t count, std::size_t size) { return counted(__libc_calloc(count, size)); }

void* realloc(void* block, std::size_t size) {
  const std::int64_t before = block ? size_of(block) : 0;
  void* const moved = __libc_realloc(block, size);
  if (moved || size == 0) state().other.add((moved ? size_of(moved) : 0) - before);
  return moved;
}

void free(void* block) {
  forget(block);
  __libc_free(block);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  void* const block = __libc_memalign(alignment, size);
  return called_by_program(__builtin_return_address(0)) ? counted_aligned(block, size)
                                                        : counted(block);
}

void* memalign(std::size_t alignment, std::size_t size) {
  void* const block = __libc_memalign(alignment, size);
  return called_by_program(__builtin_return_address(0)) ? counted_aligned(block, size)
                                                        : counted(block);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  *block = __libc_memalign(alignment, size);
  if (!*block) return ENOMEM;
  if (called_by_program(__builtin_return_address(0))) counted_aligned(*block, size);
  else counted(*block);
  return 0;
}

void* mmap(void* address, std::size_t length, int protection, int flags, int file, off_t offset) {
  const long result = syscall(SYS_mmap, address, length, protection, flags, file, offset);
  void* const mapping = reinterpret_cast<void*>(result);
  if (mapping != MAP_FAILED)
    level_of(__builtin_return_address(0)).add(static_cast<std::int64_t>(length));
  return mapping;
}

int munmap(void* address, std::size_t length) {
  const int result = static_cast<int>(syscall(SYS_munmap, address, length));
  if (result == 0) level_of(__builtin_return_address(0)).add(-static_cast<std::int64_t>(length));
  return result;
}

int fflush(std::FILE* file) {
  using Function = int (*)(std::FILE*);
  static const Function real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "fflush"));
  const int result = real(file);
  if (file == stdout) sample();
  return result;
}

}  // extern "C"
