// Buffers and views that know which positions of the flat parameter vector they hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/memory/dtype.h"
#include "common/memory/range.h"
#include "common/memory/tracker.h"

namespace zero {

// A part of a Buffer, not owned; the Buffer must outlive it.
//
// Two kinds of index, on purpose:
//   view[range]   positions in the flat vector, for stages: grads[mine] is the same elements
//                 whether grads holds the whole vector or one shard
//   as<T>()[i]    0 <= i < size(), from the view's first element, for operators
// Throws std::out_of_range when a range is not inside the view.
class View {
 public:
  View() = default;
  View(const Allocation& allocation, std::byte* data, Range range)
      : allocation_(&allocation), data_(data), range_(range) {}

  View operator[](Range range) const;

  // The first `count` elements, or `count` elements from element `from`: operators and scratch.
  View first(std::int64_t count) const { return slice(0, count); }
  View slice(std::int64_t from, std::int64_t count) const;

  Range range() const { return range_; }
  std::int64_t size() const { return range_.size(); }  // elements
  Dtype dtype() const { return allocation_ ? allocation_->dtype : Dtype::fp32; }
  const Allocation& allocation() const { return *allocation_; }  // requires a view of a buffer
  Heap& heap() const { return *allocation_->heap; }

  std::byte* data() const { return data_; }  // on the device
  std::span<std::byte> bytes() const {
    return {data_, static_cast<std::size_t>(size() * bytes_of(dtype()))};
  }
  // T is float, Fp16, Bf16 or std::int32_t, as dtype() says; std::invalid_argument otherwise.
  template <class T>
  T* as() const {
    check_dtype(kDtypeOf<T>);
    return reinterpret_cast<T*>(data_);
  }

 private:
  void check_dtype(Dtype expected) const;

  const Allocation* allocation_ = nullptr;
  std::byte* data_ = nullptr;
  Range range_;
};

// Owns memory of a Heap. Move-only; gives the memory back when it is released or destroyed.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::unique_ptr<const Allocation> allocation)
      : allocation_(std::move(allocation)) {}
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { release(); }

  View operator[](Range range) const { return view()[range]; }
  operator View() const { return view(); }
  View view() const;

  // Gives the memory back now; the buffer is empty afterwards. Releasing twice is harmless.
  void release();
  bool empty() const { return allocation_ == nullptr; }

 private:
  std::unique_ptr<const Allocation> allocation_;  // views point to it, so it never moves
};

}  // namespace zero
