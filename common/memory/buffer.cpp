// Views are arithmetic on an allocation; buffers end its life.
#include "common/memory/buffer.h"

#include <fmt/format.h>

#include <stdexcept>

#include "common/memory/heap.h"

namespace zero {

View View::operator[](Range range) const {
  if (!range_.contains(range)) {
    throw std::out_of_range(fmt::format(
        "positions [{}, {}) are not held here: \"{}\" holds [{}, {})", range.begin, range.end,
        allocation_ ? allocation_->name : "empty view", range_.begin, range_.end));
  }
  View part = *this;
  part.range_ = range;
  if (data_ && !range.empty()) part.data_ += (range.begin - range_.begin) * bytes_of(dtype());
  return part;
}

View View::slice(std::int64_t from, std::int64_t count) const {
  return (*this)[{range_.begin + from, range_.begin + from + count}];
}

void View::check_dtype(Dtype expected) const {
  if (dtype() == expected || !allocation_) return;
  throw std::invalid_argument(fmt::format("\"{}\" holds {}, not {}", allocation_->name,
                                          to_string(dtype()), to_string(expected)));
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    release();
    allocation_ = std::move(other.allocation_);
  }
  return *this;
}

View Buffer::view() const {
  return allocation_ ? View(*allocation_, allocation_->data, allocation_->range) : View();
}

void Buffer::release() {
  if (!allocation_) return;
  allocation_->heap->release(*allocation_);
  allocation_.reset();
}

}  // namespace zero
