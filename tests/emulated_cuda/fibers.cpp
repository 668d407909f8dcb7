// Creating fibers, and switching between them and the scheduler.
// Compiled without sanitizers, which cannot follow a change of stacks; annotations.h tells them.
#include "fibers.h"

#include <sys/mman.h>

#include <cstdlib>
#include <mutex>

#include "annotations.h"

namespace zero::emulator {
namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;
constexpr std::size_t kGuardBytes = 4096;

thread_local constinit Worker* worker = nullptr;

char* new_stack() {
  void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fail("no memory for the stacks of a block");
  mprotect(memory, kGuardBytes, PROT_NONE);  // an overflow ends the program
  return static_cast<char*>(memory) + kGuardBytes;
}

// Workers whose thread of the host has ended, for the next one: stacks are not made for each
// launch.
class Idle {
 public:
  Worker* take() {
    const std::lock_guard lock(mutex_);
    if (count_ == 0) return new Worker;
    return workers_[--count_];
  }
  void give_back(Worker* idle) {
    const std::lock_guard lock(mutex_);
    if (count_ < kMost) workers_[count_++] = idle;
  }

 private:
  static constexpr int kMost = 256;
  std::mutex mutex_;
  Worker* workers_[kMost] = {};
  int count_ = 0;
};
Idle& idle() {
  // There before any thread is, and never destroyed: threads may end after the program's static
  // objects. (The thread sanitizer would not see here that one thread made it for the others.)
  static constinit Idle idle;
  return idle;
}

// Gives the worker back when its thread of the host ends.
struct Lease {
  Lease() { worker = idle().take(); }
  ~Lease() {
    idle().give_back(worker);
    worker = nullptr;
  }
};

void switch_to_main(Fiber& fiber, bool last) {
  Worker& to = *worker;
  annotations::leave_stack(last ? nullptr : &fiber.fake_stack, to.main_stack, to.main_stack_bytes);
  annotations::switch_to_fiber(to.sanitizer);
  switch_context(fiber.context, to.main);
  annotations::arrive_on_stack(fiber.fake_stack, &to.main_stack, &to.main_stack_bytes);
}

void run_thread() {
  Worker& of = *worker;
  Fiber& self = *of.running;
  annotations::arrive_on_stack(nullptr, &of.main_stack, &of.main_stack_bytes);
  annotations::acquire(&of.started);
  (*of.thread)();
  annotations::release(&of.ended);
  self.state = State::done;
  switch_to_main(self, true);
  std::abort();  // nobody resumes a fiber that is done
}

}  // namespace

Worker& worker_with(int fibers) {
  thread_local const Lease lease;
  worker->sanitizer = annotations::current_fiber();
  for (; worker->created < fibers; ++worker->created) {
    Fiber& fiber = worker->fibers[worker->created];
    fiber.number = worker->created;
    fiber.stack = new_stack();
    fiber.sanitizer = annotations::create_fiber();
  }
  return *worker;
}

Worker& this_worker() { return *worker; }

void restart(Fiber& fiber) {
  fiber.state = State::ready;
  fiber.odd_block = fiber.odd_warp = false;
  make_context(fiber.context, fiber.stack, kStackBytes, run_thread);
}

void resume(Fiber& fiber) {
  Worker& of = *worker;
  of.running = &fiber;
  threadIdx = fiber.index;
  annotations::leave_stack(&of.fake_stack, fiber.stack, kStackBytes);
  annotations::switch_to_fiber(fiber.sanitizer);
  switch_context(of.main, fiber.context);
  annotations::arrive_on_stack(of.fake_stack, nullptr, nullptr);
}

void stop(Fiber& fiber) { switch_to_main(fiber, false); }

}  // namespace zero::emulator
