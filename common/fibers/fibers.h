// Programs that take turns on one thread: each runs until it has to wait.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

namespace zero {

// Fibers 0, 1, ..., count-1 of one thread, each with a stack of its own (256 KiB, of which only
// what is used takes memory; an overflow ends the program). They never run at the same time:
// whatever a fiber does between two waits, no other comes between. Which one runs next depends on
// the calls below alone, and so is the same each time.
//
// A fiber must not wait while it handles an exception (in a catch clause, or in a destructor on the
// way there): what is being handled, the C++ runtime remembers for the thread, not for the fiber.
class Fibers {
 public:
  explicit Fibers(int count);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // Runs program(number) on each fiber, begun in the order of their numbers, until all have
  // returned. An exception that leaves `program` ends the process. std::runtime_error when there is
  // no memory for the stacks; then nothing has run.
  void run(const std::function<void(int)>& program);

  // ---- called on a fiber, inside run ----
  // Stops this fiber until it is woken; those woken earlier go on earlier. False when nobody can
  // wake it: all fibers that have not ended wait. Then all of them are told so, in the order of
  // their numbers, and may wait again.
  [[nodiscard]] bool wait();
  // Lets `number` go on, if it waits; nothing otherwise. So look for what you wait for, and wait as
  // long as it is not there: nothing happens between the two.
  void wake(int number);

 private:
  struct Fiber;
  struct Main;
  Fiber& at(int number);
  void prepare(int number);
  static void start();  // where a fiber begins
  void run_program(int number) noexcept;
  void resume(Fiber& fiber);
  void switch_to_main(Fiber& fiber, bool last);
  void tell_all_that_they_are_stuck();

  const int count_;
  const std::unique_ptr<Fiber[]> fibers_;
  const std::unique_ptr<Main> main_;  // the stack that called run
  const std::function<void(int)>* program_ = nullptr;
  std::deque<int> ready_;
  int running_ = -1;
};

}  // namespace zero
