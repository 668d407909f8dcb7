// The fibers of one worker: a stack for each CUDA thread of a block, run one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "common/fibers/context.h"
#include "emulator.h"

namespace zero::emulator {

inline constexpr int kLanes = 32;
inline constexpr int kMaxThreads = 1024;  // of a block
inline constexpr int kMaxWarps = kMaxThreads / kLanes;

enum class State { ready, at_warp, at_block, done };
enum class Meeting { barrier, vote, shuffle };

// One CUDA thread. When it stops, it says here where, and what it brings.
struct Fiber {
  int number = 0;  // in its block
  uint3 index{};   // threadIdx
  State state = State::done;

  Where where;
  Meeting meeting = Meeting::barrier;
  unsigned lanes = 0;       // those it wants to meet in its warp
  int source = 0;           // shuffle: the lane whose value it wants
  std::uint64_t value = 0;  // what it brings, and afterwards what it gets

  Context context;
  char* stack = nullptr;
  void* fake_stack = nullptr;  // the address sanitizer's
  void* sanitizer = nullptr;   // the thread sanitizer's
  bool odd_block = false;      // which of two addresses the last barrier was told by
  bool odd_warp = false;
  char told[2] = {};  // addresses for annotations::release
};

// Runs one block after the other, on one thread of the host: no fiber of a block that is under way
// moves to another, and so shared memory may be thread_local.
struct Worker {
  Fiber fibers[kMaxThreads];
  int created = 0;
  Fiber* running = nullptr;
  int threads = 0;  // of the block
  int votes = 0;    // of the last barrier of the block
  const std::function<void()>* thread = nullptr;

  Context main;
  const void* main_stack = nullptr;
  std::size_t main_stack_bytes = 0;
  void* fake_stack = nullptr;
  void* sanitizer = nullptr;
  char started = 0, ended = 0, barrier[2] = {};  // addresses for annotations::release
};

// The worker of this thread of the host, with at least so many fibers.
Worker& worker_with(int fibers);
Worker& this_worker();

// Makes a fiber begin anew.
void restart(Fiber& fiber);
// Runs a fiber until it stops.
void resume(Fiber& fiber);
// Called on a fiber: stops it until it is resumed.
void stop(Fiber& fiber);

}  // namespace zero::emulator
