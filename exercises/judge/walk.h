// Going through a rank's trace, event by event, and keeping its books.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/trace/reader.h"

namespace zero::judge {

// A buffer that is alive.
struct Held {
  std::string name;
  Memory category = Memory::temporary;
  std::int64_t bytes = 0;
  std::optional<Range> range;  // absent: not part of the flat vector
  event::Step born;            // the step in which it was allocated
};

class Walk {
 public:
  explicit Walk(const RankTrace& trace) : trace_(trace) { step_.iteration = -1; }

  // The next event, which the books hold already; null after the last.
  const TraceEvent* next();

  const event::Step& step() const { return step_; }  // that is under way
  std::int64_t live(Memory category) const { return live_[static_cast<std::size_t>(category)]; }
  std::int64_t peak(Memory category) const { return peak_[static_cast<std::size_t>(category)]; }
  // Bytes that were sent since the last iteration ended; those of the start not included.
  std::int64_t sent() const { return sent_; }
  const std::map<std::int64_t, Held>& alive() const { return alive_; }
  // The most recent that was allocated; only after an Allocate.
  const Held& newest() const { return alive_.at(newest_); }

  // Those of a category that are alive, a line each, the largest first and at most `most`.
  std::string alive_text(Memory category, std::size_t most = 4) const;

 private:
  void keep(const event::Allocate& allocate);
  void free(const event::Free& freed);

  const RankTrace& trace_;
  std::size_t at_ = 0;
  bool ended_ = false;  // an iteration; what follows belongs to the next
  event::Step step_;
  std::array<std::int64_t, kMemoryCategories> live_{}, peak_{};
  std::int64_t sent_ = 0;
  std::int64_t newest_ = 0;
  std::map<std::int64_t, Held> alive_;
};

}  // namespace zero::judge
