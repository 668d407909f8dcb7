// Where a rank's buffers live: allocation, accounting, and copies to and from the host.
#pragma once

#include <functional>
#include <string_view>

#include "common/memory/buffer.h"
#include "common/memory/tracker.h"

namespace zero {

// What a write put there, as the trace tells it.
enum class Written { initial, local_gradient, updated, cast, zero };
std::string_view to_string(Written written);  // "initial", "local gradient", ...

// Is told of everything that happens to a rank's memory. The trace is one.
class HeapObserver {
 public:
  virtual ~HeapObserver() = default;
  virtual void allocated(const Allocation& allocation) = 0;
  virtual void released(const Allocation& allocation) = 0;
  virtual void wrote(View view, Written what) = 0;
  virtual void operator_begins(std::string_view name) = 0;
  virtual void operator_ends(std::string_view name) = 0;
};

// Every buffer of a rank comes from here: counted by its tracker and seen by its observer.
// Not thread-safe: one rank, one thread.
class Heap {
 public:
  // Both must outlive the heap; the observer may be null. With `fill_nan`, fresh and freed memory
  // is filled with a NaN that differs by rank, so that reading what was never written cannot go
  // unnoticed.
  Heap(MemoryTracker& tracker, HeapObserver* observer, bool fill_nan, int rank);
  virtual ~Heap() = default;
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // Memory for the positions `range` of the flat vector. It starts at an address congruent to
  // range.begin * element size modulo 256, so that a tensor has the same alignment in every stage.
  // Throws OutOfMemory.
  Buffer allocate(Memory category, std::string_view name, Dtype dtype, Range flat);

  // Memory for `size` elements that are not part of the flat vector, aligned to 256 bytes.
  Buffer allocate(Memory category, std::string_view name, Dtype dtype, std::int64_t size);

  // Host copies of device memory; complete when they return. Sizes in bytes must be equal.
  virtual void download(View from, std::span<std::byte> to) = 0;
  virtual void upload(std::span<const std::byte> from, View to) = 0;

  // Called where the values are written, by whoever knows what they mean.
  void wrote(View view, Written what) {
    if (observer_) observer_->wrote(view, what);
  }

  MemoryTracker& tracker() { return tracker_; }
  HeapObserver* observer() { return observer_; }

 protected:
  // At least `bytes` (may be 0) at an address congruent to `offset` modulo 256. `offset` < 256.
  // Throws OutOfMemory that says why there is none, as in "... needs 4 MiB, but {}"; which buffer
  // it is and what is alive, the heap adds.
  virtual std::byte* take(std::int64_t bytes, std::int64_t offset) = 0;
  virtual void give_back(std::byte* data, std::int64_t bytes, std::int64_t offset) = 0;
  virtual void fill(std::byte* data, std::int64_t bytes, std::uint16_t pattern) = 0;

 private:
  friend class Buffer;
  Buffer allocate(Allocation allocation);
  void release(const Allocation& allocation) noexcept;

  MemoryTracker& tracker_;
  HeapObserver* observer_;
  bool fill_nan_;
  std::uint16_t garbage_;
};

// Names an operator for the trace while it runs: `const OperatorSpan span(*this, "gelu_forward");`
class OperatorSpan {
 public:
  OperatorSpan(Heap& heap, std::string_view name) : observer_(heap.observer()), name_(name) {
    if (observer_) observer_->operator_begins(name_);
  }
  ~OperatorSpan() {
    if (observer_) observer_->operator_ends(name_);
  }
  OperatorSpan(const OperatorSpan&) = delete;
  OperatorSpan& operator=(const OperatorSpan&) = delete;

 private:
  HeapObserver* observer_;
  std::string_view name_;
};

}  // namespace zero
