// Who runs next, and the switch from stack to stack.
// Compiled without sanitizers, which cannot follow a change of stacks; sanitizer.h tells them.
#include "common/fibers/fibers.h"

#include <cstdlib>
#include <stdexcept>

#include "common/fibers/context.h"
#include "common/fibers/sanitizer.h"

namespace zero {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;

// Whose fiber begins: make_context passes nothing on.
thread_local constinit Fibers* starting = nullptr;

}  // namespace

struct Fibers::Fiber {
  enum class State { ready, waiting, done };

  int number = 0;
  State state = State::done;
  bool stuck = false;  // nobody else could wake it
  Context context;
  char* stack = nullptr;
  void* fake_stack = nullptr;  // the address sanitizer's
  void* sanitizer = nullptr;   // the thread sanitizer's
};

struct Fibers::Main {
  Context context;
  const void* stack = nullptr;
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;
  void* sanitizer = nullptr;
};

Fibers::Fibers(int count)
    : count_(count),
      fibers_(std::make_unique<Fiber[]>(static_cast<std::size_t>(count))),
      main_(std::make_unique<Main>()) {
  for (int number = 0; number < count; ++number) {
    at(number).number = number;
  }
}

Fibers::~Fibers() {
  for (int number = 0; number < count_; ++number) {
    Fiber& fiber = at(number);
    if (!fiber.stack) continue;
    free_context(fiber.context);
    sanitizer::destroy_fiber(fiber.sanitizer);
    sanitizer::forget_stack(fiber.stack, kStackBytes);
    free_stack(fiber.stack, kStackBytes);
  }
  free_context(main_->context);
}

void Fibers::run(const std::function<void(int)>& program) {
  program_ = &program;
  main_->sanitizer = sanitizer::current_fiber();
  for (int number = 0; number < count_; ++number) prepare(number);
  Fibers* const around = starting;  // this may itself be a fiber, of others
  for (int left = count_; left > 0;) {
    if (ready_.empty()) tell_all_that_they_are_stuck();
    Fiber& fiber = at(ready_.front());
    ready_.pop_front();
    starting = this;
    resume(fiber);
    if (fiber.state == Fiber::State::done) --left;
  }
  starting = around;
}

bool Fibers::wait() {
  Fiber& self = at(running_);
  self.state = Fiber::State::waiting;
  self.stuck = false;
  switch_to_main(self, false);
  return !self.stuck;
}

void Fibers::wake(int number) {
  Fiber& fiber = at(number);
  if (fiber.state != Fiber::State::waiting) return;
  fiber.state = Fiber::State::ready;
  ready_.push_back(number);
}

Fibers::Fiber& Fibers::at(int number) { return fibers_[static_cast<std::size_t>(number)]; }

void Fibers::prepare(int number) {
  Fiber& fiber = at(number);
  if (!fiber.stack) {
    fiber.stack = new_stack(kStackBytes);
    if (!fiber.stack) throw std::runtime_error("no memory for the stacks of the fibers");
    fiber.sanitizer = sanitizer::create_fiber();
  }
  make_context(fiber.context, fiber.stack, kStackBytes, start);
  fiber.state = Fiber::State::ready;
  ready_.push_back(number);
}

void Fibers::tell_all_that_they_are_stuck() {
  for (int number = 0; number < count_; ++number) {
    Fiber& fiber = at(number);
    if (fiber.state != Fiber::State::waiting) continue;
    fiber.stuck = true;
    wake(number);
  }
}

// ---- switching ----

void Fibers::start() {
  Fibers& of = *starting;
  Fiber& self = of.at(of.running_);
  sanitizer::arrive_on_stack(nullptr, &of.main_->stack, &of.main_->stack_bytes);
  of.run_program(self.number);
  self.state = Fiber::State::done;
  of.switch_to_main(self, true);
  std::abort();  // nobody resumes a fiber that is done
}

void Fibers::run_program(int number) noexcept { (*program_)(number); }

void Fibers::resume(Fiber& fiber) {
  running_ = fiber.number;
  sanitizer::leave_stack(&main_->fake_stack, fiber.stack, kStackBytes);
  sanitizer::switch_to_fiber(fiber.sanitizer, sanitizer::Orders::yes);
  switch_context(main_->context, fiber.context);
  sanitizer::arrive_on_stack(main_->fake_stack, nullptr, nullptr);
}

void Fibers::switch_to_main(Fiber& fiber, bool last) {
  sanitizer::leave_stack(last ? nullptr : &fiber.fake_stack, main_->stack, main_->stack_bytes);
  sanitizer::switch_to_fiber(main_->sanitizer, sanitizer::Orders::yes);
  switch_context(fiber.context, main_->context);
  sanitizer::arrive_on_stack(fiber.fake_stack, nullptr, nullptr);
}

}  // namespace zero
