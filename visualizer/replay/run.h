// One run's traces, all ranks' events in one order: what a replay plays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/trace/events.h"
#include "visualizer/replay/log.h"
#include "visualizer/replay/order.h"
#include "visualizer/replay/read.h"
#include "visualizer/replay/world.h"

namespace zero::replay {

// A step, from the moment that the first rank begins it. The same step may come again.
struct Chapter {
  std::int64_t iteration = -1;
  int number = 0;
  std::string caption;
  std::string unit;        // empty: about no single unit
  std::size_t begin = 0;   // position: the first rank has begun it
  std::size_t all_in = 0;  // position: every rank has begun it
  std::size_t end = 0;     // position: where the next chapter begins; run.size() for the last
};

// Live bytes of a rank, by Memory, from this event on.
struct MemoryPoint {
  EventIndex event = 0;
  std::array<std::int64_t, kMemoryCategories> live{};
};

// Worlds that a run keeps, so that any position is near one.
struct Keyframes {
  std::size_t between = 512;                    // events
  std::size_t memory = std::size_t{256} << 20;  // bytes; more are kept further apart
};

// Never changes: any number of threads may read it.
class Run {
 public:
  // Reads DIRECTORY/rank*.jsonl. Damaged files are shown up to where they are damaged, with a note.
  // Throws TraceError ("FILE:LINE: ...") when nothing can be shown, Cancelled when asked to.
  static std::shared_ptr<const Run> open(const std::string& directory, Order order = Order::logical,
                                         Progress* progress = nullptr);
  // The same from what is read already. Throws TraceError when `log` has no rank.
  static std::shared_ptr<const Run> from(RunLog log, Order order = Order::logical,
                                         Progress* progress = nullptr, Keyframes keyframes = {});
  // The same events in another order.
  std::shared_ptr<const Run> in_order(Order order) const { return from(log_, order); }

  const event::Header& header() const;  // of the lowest rank that has a file
  int world_size() const { return static_cast<int>(log_.ranks.size()); }
  // The ranks that have a trace, or should have one: of a large simulated run only a few.
  const std::vector<int>& traced() const { return traced_; }
  bool is_traced(int rank) const {
    return std::binary_search(traced_.begin(), traced_.end(), rank);
  }
  // Nobody measured it: all ranks share one clock, and collectives may be told in closed form.
  bool is_simulated() const { return header().clock == "simulated"; }
  const RankLog& rank(int r) const { return log_.ranks[static_cast<std::size_t>(r)]; }
  const std::string& directory() const { return log_.directory; }
  const std::vector<std::string>& notes() const { return notes_; }
  std::vector<std::string> first_notes() const;  // a few of them, and how many more there are
  // Those on the files alone, which stay true when more comes.
  const std::vector<std::string>& file_notes() const { return log_.notes; }
  Order order() const { return order_; }

  // ---- events: 0 <= e < size() ----
  std::size_t size() const { return ordered_.events.size(); }
  int rank_of(EventIndex e) const { return ordered_.events[e].rank; }
  std::size_t own_index(EventIndex e) const { return ordered_.events[e].index; }  // on its rank
  const TraceEvent& event(EventIndex e) const { return rank(rank_of(e)).events[own_index(e)]; }
  std::string where(EventIndex e) const;  // "out/rank1.jsonl:7"
  EventIndex index_of(int rank, std::size_t own) const {
    return ordered_.index[static_cast<std::size_t>(rank)][own];
  }
  // Never decreases: ticks of the logical clock, or nanoseconds of the measured one.
  std::int64_t time(EventIndex e) const { return ordered_.events[e].time; }
  // The receive of a send, the send of a receive; nothing when there is none.
  std::optional<EventIndex> partner(EventIndex e) const;
  // What a send, receive or move says of its hop; null for other events.
  const event::Hop* hop(EventIndex e) const;

  // ---- what they add up to ----
  const BufferInfo* buffer(int rank, std::int64_t number) const;  // alive or not; null: never was
  const std::vector<MemoryPoint>& memory(int rank) const {
    return memory_[static_cast<std::size_t>(rank)];
  }
  const std::vector<Chapter>& chapters() const { return chapters_; }
  // The chapter that a position is in; nothing before the first.
  std::optional<std::size_t> chapter_at(std::size_t position) const;

  // The world at any position: from the keyframe before it. Positions beyond the end are the end.
  World at(std::size_t position) const;

 private:
  Run(RunLog log, Order order, Progress* progress, Keyframes keep);
  void find_traced();
  void find_buffers();
  void find_chapters();
  void note_missing_messages();
  void play_once(Progress* progress, Keyframes keep);  // keyframes, memory, notes

  RunLog log_;
  Order order_;
  std::vector<std::string> notes_;
  std::vector<int> traced_;
  Ordered ordered_;
  std::vector<std::map<std::int64_t, BufferInfo>> buffers_;  // by rank and number
  std::vector<std::vector<MemoryPoint>> memory_;             // by rank
  std::vector<Chapter> chapters_;
  std::vector<World> keyframes_;  // by position; the first is at 0
};

}  // namespace zero::replay
