// One run's traces, all ranks' events in one order: what a replay plays.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/trace/events.h"
#include "visualizer/replay/world.h"

namespace zero::replay {

// Which of the orders that respect each rank's own and put every receive after its send.
enum class Order {
  logical,  // ranks advance together: an event's time is 1 + the later of the event before it on
            // its rank and, for a receive, its send (Lamport's clock); then by rank
  measured  // by the ranks' clocks, set against each other so that no receive is before its send
};

// A rank's events, as far as they are read. Copies share them; what has been added stays.
class EventList {
 public:
  std::size_t size() const { return size_; }
  const TraceEvent& operator[](std::size_t i) const { return (*chunks_[i / kChunk])[i % kChunk]; }
  void push_back(TraceEvent event);

 private:
  static constexpr std::size_t kChunk = 4096;
  std::size_t size_ = 0;
  std::vector<std::shared_ptr<std::vector<TraceEvent>>> chunks_;
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

// How far a load has come; may be read, and cancelled, from another thread.
struct Progress {
  std::atomic<double> done = 0;  // 0 to 1
  std::atomic<bool> cancelled = false;
};
struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled") {}
};

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

// Never changes: any number of threads may read it.
class Run {
 public:
  // Reads DIRECTORY/rank*.jsonl. Damaged files are shown up to where they are damaged, with a note.
  // Throws TraceError ("FILE:LINE: ...") when nothing can be shown, Cancelled when asked to.
  static std::shared_ptr<const Run> open(const std::string& directory, Order order = Order::logical,
                                         Progress* progress = nullptr);
  // The same from what is read already. Throws TraceError when `log` has no rank.
  static std::shared_ptr<const Run> from(RunLog log, Order order = Order::logical,
                                         Progress* progress = nullptr);
  // The same events in another order.
  std::shared_ptr<const Run> in_order(Order order) const { return from(log_, order); }

  const event::Header& header() const;  // of the lowest rank that has a file
  int world_size() const { return static_cast<int>(log_.ranks.size()); }
  const RankLog& rank(int r) const { return log_.ranks[static_cast<std::size_t>(r)]; }
  const std::string& directory() const { return log_.directory; }
  const std::vector<std::string>& notes() const { return notes_; }
  Order order() const { return order_; }

  // ---- events: 0 <= e < size() ----
  std::size_t size() const { return order_of_.size(); }
  int rank_of(EventIndex e) const { return order_of_[e].rank; }
  const TraceEvent& event(EventIndex e) const {
    return log_.ranks[static_cast<std::size_t>(order_of_[e].rank)].events[order_of_[e].index];
  }
  std::string where(EventIndex e) const;  // "out/rank1.jsonl:7"
  EventIndex index_of(int rank, std::size_t own_index) const {
    return index_[static_cast<std::size_t>(rank)][own_index];
  }
  // Never decreases: ticks of the logical clock, or nanoseconds of the measured one.
  std::int64_t time(EventIndex e) const { return order_of_[e].time; }
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
  friend struct World;
  struct Placed {
    int rank = 0;
    std::uint32_t index = 0;  // in its rank's list
    std::int64_t time = 0;
  };
  Run(RunLog log, Order order, Progress* progress);
  void put_in_order(Progress* progress);
  void find_buffers();
  void find_chapters();
  void play_once(Progress* progress);  // keyframes, notes

  RunLog log_;
  Order order_;
  std::vector<std::string> notes_;
  std::vector<Placed> order_of_;
  std::vector<std::vector<std::uint32_t>> index_;            // by rank and own index
  std::vector<std::uint32_t> partner_;                       // by event; size(): none
  std::vector<std::map<std::int64_t, BufferInfo>> buffers_;  // by rank and number
  std::vector<std::vector<MemoryPoint>> memory_;             // by rank
  std::vector<Chapter> chapters_;
  std::vector<World> keyframes_;  // by position; the first is at 0
};

}  // namespace zero::replay
