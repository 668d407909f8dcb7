// The memory tracker: how many bytes one rank holds, of which category, since when.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/memory/dtype.h"
#include "common/memory/range.h"

namespace zero {

// What a buffer is for.
enum class Memory {
  parameters,
  gradients,
  optimizer_states,
  activations,
  temporary,      // gathered units, unit gradients
  communication,  // chunk scratch, constant in N
  workspace       // operator scratch, bounded, differs by device
};
inline constexpr int kMemoryCategories = 7;
std::string_view to_string(Memory category);  // "parameters", ..., "workspace"

class Heap;

// One block of memory that a rank holds, or held.
struct Allocation {
  std::int64_t id = 0;  // 1, 2, 3, ... in order of birth on this rank
  std::string name;
  Memory category = Memory::temporary;
  Dtype dtype = Dtype::fp32;
  Range range;        // the positions it stands for; [0, n) when it is not part of the flat vector
  bool flat = false;  // whether `range` is a range of the flat parameter vector
  std::byte* data = nullptr;  // address; null on a device that stores nothing
  std::int64_t bytes = 0;
  Heap* heap = nullptr;  // where it lives
};

// Where a rank is in its program: kept by the Rank, read by the tracker, the trace and the errors.
struct Place {
  int iteration = -1;  // -1 before the first
  int step = 0;        // 1 to 6; 0 before the first
  std::string banner = "0. Start: allocate and initialize";
  std::string unit;  // empty when the step is not about one unit
};

// Thrown when an allocation does not fit into the rank's budget, or its device has no memory left.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
  // Bytes of this rank. A device that refuses leaves them to the heap (MemoryTracker::refusal).
  std::int64_t room = 0;         // more than this it cannot have
  std::int64_t activations = 0;  // alive or asked for
  std::int64_t others = 0;       // the same; neither activations nor model states
};

// One rank, one thread, one tracker: no locks. All numbers are bytes.
class MemoryTracker {
 public:
  static constexpr std::int64_t kUnlimited = INT64_MAX;

  // `place` must outlive the tracker. The budget is the size of this rank's device.
  // `list_peak`: whether alive_at_peak() is asked for. A list is made again after each new peak, of
  // all that is alive: for a thousand ranks of one process that would take long.
  explicit MemoryTracker(const Place& place, std::int64_t budget = kUnlimited,
                         bool list_peak = true);

  // Counts `allocation`, gives it its id and returns it. Throws OutOfMemory, and counts nothing,
  // when it does not fit: the message says what was asked, and what is alive by category.
  Allocation allocate(Allocation allocation);
  void set_address(std::int64_t id, std::byte* data) { alive_.at(id).data = data; }
  void release(std::int64_t id);

  // The error for an `allocation` that is not counted: what it is, `why` there is no place for it
  // ("of 4 GiB only 1 GiB are free"), and what is alive by category. `room` as in OutOfMemory.
  OutOfMemory refusal(const Allocation& allocation, std::string_view why, std::int64_t room) const;

  std::int64_t live(Memory category) const { return live_[static_cast<int>(category)]; }
  std::int64_t peak(Memory category) const { return peak_[static_cast<int>(category)]; }
  std::int64_t live_total() const { return live_total_; }
  std::int64_t peak_total() const { return peak_total_; }
  std::int64_t budget() const { return budget_; }

  // Where the rank was when the total was first at its peak, and what was alive then: nothing
  // without list_peak.
  const Place& peak_place() const { return peak_place_; }
  std::vector<Allocation> alive_at_peak() const;

  // What is alive now, by id.
  const std::map<std::int64_t, Allocation>& alive() const { return alive_; }

 private:
  const Place& place_;
  std::int64_t budget_;
  bool list_peak_;
  std::int64_t next_id_ = 1;
  std::map<std::int64_t, Allocation> alive_;
  std::array<std::int64_t, kMemoryCategories> live_{};
  std::array<std::int64_t, kMemoryCategories> peak_{};
  std::int64_t live_total_ = 0;
  std::int64_t peak_total_ = 0;
  Place peak_place_;
  // Set at the first release after a new peak: until then everything of the peak is still alive.
  std::vector<Allocation> at_peak_;
  bool at_peak_now_ = true;
};

}  // namespace zero
