// A rank's live bytes by category along the common clock, as steps; never loses a peak.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "visualizer/replay/alignment.h"
#include "visualizer/replay/run.h"

namespace zero::view {

using LiveBytes = std::array<std::int64_t, kMemoryCategories>;  // by Memory
std::int64_t sum_of(const LiveBytes& live);

// Live bytes from one allocation or release to the next.
struct MemoryStep {
  double clock = 0;                         // since
  std::optional<replay::EventIndex> event;  // that made it so; absent: nothing yet
  LiveBytes live{};
  std::int64_t total = 0;
};

// A buffer in columns [first, last), where nothing older of its category comes or goes.
struct MemoryBand {
  std::int64_t buffer = 0;
  Memory category = Memory::temporary;
  int first = 0, last = 0;
  std::int64_t below = 0;  // bytes of older buffers of its category
  std::int64_t bytes = 0;
};

// Used by one thread at a time.
class MemoryCurve {
 public:
  // `place`: of the run among those of the alignment. Keeps neither.
  MemoryCurve(const replay::Run& run, int rank, const replay::Alignment& alignment,
              std::size_t place);

  // In order, from clock 0 on. Never empty.
  const std::vector<MemoryStep>& steps() const { return steps_; }
  const MemoryStep& at(double clock) const;
  const MemoryStep& peak() const { return steps_[peak_]; }  // the first of the highest
  std::int64_t highest(Memory category) const {
    return highest_[static_cast<std::size_t>(category)];
  }
  std::optional<std::int64_t> budget() const { return budget_; }

  // For each of `width` equal parts of the clock that step of it, among those in force at its
  // beginning and those that begin in it, that is highest; of equals the first. So the highest of
  // all columns is the peak, and each shows what really was. Kept for the last few widths.
  // Requires width >= 1.
  const std::vector<const MemoryStep*>& columns(int width) const;
  // The buffers that these steps consist of, stacked in each category by age.
  const std::vector<MemoryBand>& bands(int width) const;

 private:
  // What the step of the same index, from 1 on, did.
  struct Change {
    std::int64_t buffer = 0;
    Memory category = Memory::temporary;
    std::int64_t bytes = 0;  // 0: nothing; negative: released
  };
  std::vector<const MemoryStep*> downsampled(int width) const;
  std::vector<MemoryBand> stacked(int width) const;

  double length_;  // of the clock
  std::vector<MemoryStep> steps_;
  std::vector<Change> changes_;
  std::size_t peak_ = 0;
  LiveBytes highest_{};
  std::optional<std::int64_t> budget_;
  mutable std::map<int, std::vector<const MemoryStep*>> columns_;  // by width
  mutable std::map<int, std::vector<MemoryBand>> bands_;
};

}  // namespace zero::view
