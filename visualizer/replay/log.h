// What the files of a run say, rank by rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/trace/events.h"

namespace zero::replay {

// A rank's events, as far as they are read. Copies share them. The newest copy may grow while other
// threads read older ones: what is there never moves.
class EventList {
 public:
  std::size_t size() const { return size_; }
  const TraceEvent& operator[](std::size_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  void push_back(TraceEvent event) {
    if (size_ % kChunk == 0) chunks_.emplace_back(new TraceEvent[kChunk]);
    chunks_.back()[size_++ % kChunk] = std::move(event);
  }

 private:
  static constexpr std::size_t kChunk = 128;
  std::size_t size_ = 0;
  std::vector<std::shared_ptr<TraceEvent[]>> chunks_;
};

// What one rank's file says.
struct RankLog {
  std::string path;      // empty: this rank has no file
  event::Header header;  // of no meaning without a file
  EventList events;
  bool ended = false;  // with its `end` line; otherwise it was killed, or is still running
};

struct RunLog {
  std::string directory;
  std::vector<RankLog> ranks;      // by rank: as many as the world has
  std::vector<std::string> notes;  // what is missing, cut off, damaged or skipped, a sentence each
};

}  // namespace zero::replay
