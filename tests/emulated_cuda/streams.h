// A stream: work that is done in its order, eagerly, lazily, or by a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "emulator.h"

struct CUstream_st : std::enable_shared_from_this<CUstream_st> {
 public:
  explicit CUstream_st(int on_device) : device(on_device) {}

  void put(zero::emulator::Work work);
  bool idle();
  // Does the first piece of work; false when there is none or somebody else is at work here.
  bool try_one();
  void finish();  // returns when all is done
  void close();   // no more work comes

  const int device;

 private:
  // One mutex guards the queue; the other is held by who does the work (not with
  // StreamMode::threads).
  std::mutex mutex_;
  std::mutex turn_;
  std::condition_variable changed_;
  std::deque<zero::emulator::Work> queue_;
  bool busy_ = false;
  bool started_ = false;
  bool closed_ = false;

  bool do_first();
  void work_until_closed();
};

namespace zero::emulator {

// The stream behind a handle, nullptr when there is none. A null handle is the default stream of
// the current device.
std::shared_ptr<CUstream_st> find_stream(cudaStream_t handle);

// Held by every kernel, shared. The end of the program takes it alone and keeps it: streams have
// threads of their own that nobody waits for, and a leak check that comes upon one in the middle
// of a kernel does not look at the stack that its fibers have left.
std::shared_mutex& kernels();

}  // namespace zero::emulator
