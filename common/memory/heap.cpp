// Allocation: counted first, then taken, then told.
#include "common/memory/heap.h"

namespace zero {

std::string_view to_string(Written written) {
  switch (written) {
    case Written::initial:
      return "initial";
    case Written::local_gradient:
      return "local gradient";
    case Written::updated:
      return "updated";
    case Written::cast:
      return "cast";
    case Written::zero:
      return "zero";
  }
  return "unknown";
}

Heap::Heap(MemoryTracker& tracker, HeapObserver* observer, bool fill_nan, int rank)
    : tracker_(tracker),
      observer_(observer),
      fill_nan_(fill_nan),
      // A NaN in fp16, in bf16 and, twice, in fp32, for ranks 0 to 63.
      garbage_(static_cast<std::uint16_t>(0xff81u + (rank & 63))) {}

Buffer Heap::allocate(Memory category, std::string_view name, Dtype dtype, Range flat) {
  return allocate(Allocation{.name = std::string(name),
                             .category = category,
                             .dtype = dtype,
                             .range = flat,
                             .flat = true});
}

Buffer Heap::allocate(Memory category, std::string_view name, Dtype dtype, std::int64_t size) {
  return allocate(Allocation{.name = std::string(name),
                             .category = category,
                             .dtype = dtype,
                             .range = {0, size},
                             .flat = false});
}

Buffer Heap::allocate(Allocation allocation) {
  const std::int64_t width = bytes_of(allocation.dtype);
  allocation.bytes = allocation.range.size() * width;
  allocation.heap = this;
  allocation = tracker_.allocate(std::move(allocation));
  try {
    allocation.data = take(allocation.bytes, allocation.range.begin * width % 256);
  } catch (const OutOfMemory& error) {
    // What was alive and this did not fit together.
    const std::int64_t room = tracker_.live_total() - 1;
    tracker_.release(allocation.id);
    throw tracker_.refusal(allocation, error.what(), room);
  } catch (...) {
    tracker_.release(allocation.id);
    throw;
  }
  if (fill_nan_) fill(allocation.data, allocation.bytes, garbage_);
  tracker_.set_address(allocation.id, allocation.data);
  if (observer_) observer_->allocated(allocation);
  return Buffer(std::make_unique<const Allocation>(std::move(allocation)));
}

void Heap::release(const Allocation& allocation) noexcept {
  if (fill_nan_) fill(allocation.data, allocation.bytes, garbage_);
  give_back(allocation.data, allocation.bytes,
            allocation.range.begin * bytes_of(allocation.dtype) % 256);
  tracker_.release(allocation.id);
  if (observer_) observer_->released(allocation);
}

}  // namespace zero
