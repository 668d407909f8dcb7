// Runs the threads of a block: in which order, where they meet, and what they may not do.
// Compiled without sanitizers: see fibers.cpp.
#include "scheduler.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "annotations.h"
#include "fibers.h"

namespace zero::emulator {
namespace {

bool same_place(const Fiber& a, const Fiber& b) {
  return a.where.line == b.where.line && std::strcmp(a.where.file, b.where.file) == 0;
}

std::string describe(uint3 index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " +
         std::to_string(index.z) + ")";
}

std::string describe(const Fiber& fiber) {
  if (fiber.state == State::done) return "has left the kernel";
  return "waits at " + emulator::describe(fiber.where);
}

[[noreturn]] void fail_at(const Fiber& fiber, const std::string& message) {
  fail(emulator::describe(fiber.where) + ": " + message + " (block " + describe(blockIdx) + ")");
}

// ---- a warp ----

// The lanes of a warp that wait for others of it, one bit each.
unsigned waiting_in(const Fiber* warp, int lanes) {
  unsigned waiting = 0;
  for (int i = 0; i < lanes; ++i) {
    if (warp[i].state == State::at_warp) waiting |= 1u << i;
  }
  return waiting;
}

// A lane that the first lane of `wanted` waits for in vain: not there, or there for another
// meeting. -1 when all are there.
int missing_of(const Fiber* warp, const Fiber& first, unsigned wanted, unsigned waiting) {
  for (unsigned left = wanted; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    const bool there = (waiting >> i & 1u) != 0 && warp[i].lanes == first.lanes &&
                       warp[i].meeting == first.meeting && same_place(warp[i], first);
    if (!there) return i;
  }
  return -1;
}

// All lanes of `group` have come: each gets its value, and may go on.
void let_go(Fiber* warp, unsigned group) {
  std::uint64_t brought[kLanes] = {};
  unsigned ballot = 0, odd = 0;
  for (unsigned left = group; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    brought[i] = warp[i].value;
    if (warp[i].value != 0) ballot |= 1u << i;
    if (warp[i].odd_warp) odd |= 1u << i;
  }
  for (unsigned left = group; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    Fiber& fiber = warp[i];
    if (fiber.meeting == Meeting::shuffle) {
      const bool known =
          fiber.source >= 0 && fiber.source < kLanes && (group >> fiber.source & 1u) != 0;
      if (!known) {
        fail_at(fiber, "lane " + std::to_string(i) + " reads from lane " +
                           std::to_string(fiber.source) + ", which takes no part");
      }
      fiber.value = brought[fiber.source];
    } else if (fiber.meeting == Meeting::vote) {
      fiber.value = ballot;
    } else {
      fiber.value = odd;
    }
    fiber.state = State::ready;
  }
}

// Lets go every group of lanes that is complete; false when no lane of the warp waits for another.
bool meet(Fiber* warp, int lanes) {
  const unsigned waiting = waiting_in(warp, lanes);
  if (waiting == 0) return false;
  const unsigned exist = lanes == kLanes ? ~0u : (1u << lanes) - 1;
  unsigned let_go_now = 0;
  for (unsigned left = waiting; left != 0;) {
    const Fiber& first = warp[std::countr_zero(left)];
    const unsigned group = first.lanes & exist;
    if (missing_of(warp, first, group, waiting) < 0) {
      let_go(warp, group);
      let_go_now |= group;
      left &= ~group;
    } else {
      left &= left - 1;
    }
  }
  if (let_go_now == 0) {
    const int i = std::countr_zero(waiting);
    const int missing = missing_of(warp, warp[i], warp[i].lanes & exist, waiting);
    fail_at(warp[i], "lane " + std::to_string(i) + " waits for lane " + std::to_string(missing) +
                         " of its warp, which " + describe(warp[missing]));
  }
  return true;
}

// Runs a warp until each of its threads has ended or waits for the whole block.
void run_warp(Fiber* warp, int lanes, const int* lane_order) {
  do {
    for (int i = 0; i < kLanes; ++i) {
      const int lane = lane_order[i];
      if (lane < lanes && warp[lane].state == State::ready) resume(warp[lane]);
    }
  } while (meet(warp, lanes));
}

// ---- a block ----

struct Arrived {
  int done = 0;
  const Fiber* waiting = nullptr;  // any of those at the barrier
};

Arrived arrived(const Worker& worker) {
  Arrived result;
  for (int i = 0; i < worker.threads; ++i) {
    const Fiber& fiber = worker.fibers[i];
    if (fiber.state == State::done) {
      ++result.done;
      continue;
    }
    if (result.waiting != nullptr && !same_place(*result.waiting, fiber)) {
      fail_at(*result.waiting, "threads of one block wait at different barriers: thread " +
                                   std::to_string(fiber.number) + " " + describe(fiber));
    }
    result.waiting = &fiber;
  }
  return result;
}

void open_barrier(Worker& worker) {
  int votes = 0;
  for (int i = 0; i < worker.threads; ++i) {
    if (worker.fibers[i].value != 0) ++votes;
    worker.fibers[i].state = State::ready;
  }
  worker.votes = votes;
}

void begin_block(Worker& worker, dim3 shape) {
  for (int i = 0; i < worker.threads; ++i) {
    const unsigned number = static_cast<unsigned>(i);
    Fiber& fiber = worker.fibers[i];
    fiber.index = {number % shape.x, number / shape.x % shape.y, number / (shape.x * shape.y)};
    restart(fiber);
  }
}

}  // namespace

void run_block(int threads, dim3 shape, const std::function<void()>& thread,
               std::minstd_rand& random) {
  Worker& worker = worker_with(threads);
  worker.threads = threads;
  worker.thread = &thread;
  begin_block(worker, shape);

  const Order order = settings().order;
  const int warps = (threads + kLanes - 1) / kLanes;
  int warp_order[kMaxWarps], lane_order[kLanes];
  for (int i = 0; i < warps; ++i) warp_order[i] = order == Order::reverse ? warps - 1 - i : i;
  for (int i = 0; i < kLanes; ++i) lane_order[i] = order == Order::reverse ? kLanes - 1 - i : i;

  annotations::release(&worker.started);
  for (;;) {  // from barrier to barrier
    if (order == Order::random) {
      std::shuffle(warp_order, warp_order + warps, random);
      std::shuffle(lane_order, lane_order + kLanes, random);
    }
    for (int i = 0; i < warps; ++i) {
      const int first = warp_order[i] * kLanes;
      run_warp(worker.fibers + first, std::min(kLanes, threads - first), lane_order);
    }
    const Arrived now = arrived(worker);
    if (now.done == threads) break;
    if (now.done > 0) {
      fail_at(*now.waiting, std::to_string(now.done) + " of " + std::to_string(threads) +
                                " threads have left the kernel, the others wait at a barrier");
    }
    open_barrier(worker);
  }
  annotations::acquire(&worker.ended);
}

// ---- called by the threads themselves ----

int meet_block(bool predicate, Where where) {
  Worker& worker = this_worker();
  Fiber& self = *worker.running;
  self.state = State::at_block;
  self.where = where;
  self.value = predicate ? 1 : 0;
  // Two addresses in turn: a thread that is quick comes to the next barrier before others have left
  // this one, and what it did in between is not ordered before what they do.
  self.odd_block = !self.odd_block;
  char* told = &worker.barrier[self.odd_block ? 1 : 0];
  annotations::release(told);
  stop(self);
  annotations::acquire(told);
  return worker.votes;
}

void meet_warp(unsigned lanes, Where where) {
  Worker& worker = this_worker();
  Fiber& self = *worker.running;
  self.state = State::at_warp;
  self.where = where;
  self.meeting = Meeting::barrier;
  self.lanes = lanes | 1u << lane();
  self.odd_warp = !self.odd_warp;
  annotations::release(&self.told[self.odd_warp ? 1 : 0]);
  stop(self);
  const std::uint64_t odd = self.value;  // which address each lane of the group has used
  Fiber* warp = &self - lane();
  for (unsigned left = lanes; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    annotations::acquire(&warp[i].told[odd >> i & 1u]);
  }
}

unsigned vote(unsigned lanes, bool predicate, Where where) {
  Fiber& self = *this_worker().running;
  self.state = State::at_warp;
  self.where = where;
  self.meeting = Meeting::vote;
  self.lanes = lanes | 1u << lane();
  self.value = predicate ? 1 : 0;
  stop(self);
  return static_cast<unsigned>(self.value);
}

// A shuffle orders nothing but itself: CUDA says it is no barrier for memory.
std::uint64_t exchange(unsigned lanes, std::uint64_t value, int source, Where where) {
  Fiber& self = *this_worker().running;
  self.state = State::at_warp;
  self.where = where;
  self.meeting = Meeting::shuffle;
  self.lanes = lanes | 1u << lane();
  self.source = source;
  self.value = value;
  stop(self);
  return self.value;
}

int lane() { return this_worker().running->number % kLanes; }
int threads_in_block() { return this_worker().threads; }

}  // namespace zero::emulator
