// Creating fibers, and switching between them and the scheduler.
// Compiled without sanitizers, which cannot follow a change of stacks; common/fibers/sanitizer.h
// tells them.
#include "fibers.h"

#include <cstdlib>
#include <mutex>

#include "annotations.h"
#include "common/fibers/sanitizer.h"

namespace zero::emulator {
namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;

thread_local constinit Worker* worker = nullptr;

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
  sanitizer::leave_stack(last ? nullptr : &fiber.fake_stack, to.main_stack, to.main_stack_bytes);
  sanitizer::switch_to_fiber(to.sanitizer, sanitizer::Orders::no);
  switch_context(fiber.context, to.main);
  sanitizer::arrive_on_stack(fiber.fake_stack, &to.main_stack, &to.main_stack_bytes);
}

void run_thread() {
  Worker& of = *worker;
  Fiber& self = *of.running;
  sanitizer::arrive_on_stack(nullptr, &of.main_stack, &of.main_stack_bytes);
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
  worker->sanitizer = sanitizer::current_fiber();
  for (; worker->created < fibers; ++worker->created) {
    Fiber& fiber = worker->fibers[worker->created];
    fiber.number = worker->created;
    fiber.stack = new_stack(kStackBytes);
    if (fiber.stack == nullptr) fail("no memory for the stacks of a block");
    fiber.sanitizer = sanitizer::create_fiber();
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
  sanitizer::leave_stack(&of.fake_stack, fiber.stack, kStackBytes);
  sanitizer::switch_to_fiber(fiber.sanitizer, sanitizer::Orders::no);
  switch_context(of.main, fiber.context);
  sanitizer::arrive_on_stack(of.fake_stack, nullptr, nullptr);
}

void stop(Fiber& fiber) { switch_to_main(fiber, false); }

}  // namespace zero::emulator
