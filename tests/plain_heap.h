// A heap in host memory for tests of what lives above it: no operators.
#pragma once

#include <cstring>
#include <new>
#include <span>

#include "common/memory/heap.h"

namespace zero {

class PlainHeap : public Heap {
 public:
  explicit PlainHeap(MemoryTracker& tracker, HeapObserver* observer = nullptr,
                     bool fill_nan = false, int rank = 0)
      : Heap(tracker, observer, fill_nan, rank) {}

  void download(View from, std::span<std::byte> to) override {
    std::memcpy(to.data(), from.data(), to.size());
  }
  void upload(std::span<const std::byte> from, View to) override {
    std::memcpy(to.data(), from.data(), from.size());
  }

  int blocks = 0;             // taken and not given back
  bool fail_to_take = false;  // the next take throws

 protected:
  std::byte* take(std::int64_t bytes, std::int64_t offset) override {
    if (fail_to_take) throw std::bad_alloc();
    ++blocks;
    void* start = ::operator new(static_cast<std::size_t>(bytes + offset), kAlignment);
    return static_cast<std::byte*>(start) + offset;
  }
  void give_back(std::byte* data, std::int64_t, std::int64_t offset) override {
    --blocks;
    ::operator delete(data - offset, kAlignment);
  }
  void fill(std::byte* data, std::int64_t bytes, std::uint16_t pattern) override {
    for (std::int64_t at = 0; at + 2 <= bytes; at += 2) std::memcpy(data + at, &pattern, 2);
  }

 private:
  static constexpr std::align_val_t kAlignment{256};
};

}  // namespace zero
