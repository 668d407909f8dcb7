// Everything that every rank holds, and does, at one position of a run.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/trace/events.h"
#include "visualizer/replay/cells.h"

namespace zero::replay {

class Run;

// An event is known by its index in the run's order of all ranks' events. Position p is the moment
// after p events: before everything at 0, at the end at run.size().
using EventIndex = std::size_t;

// What stays the same of a buffer from its birth to its death. Owned by the Run.
struct BufferInfo {
  int rank = 0;
  const event::Allocate* allocate = nullptr;  // number, name, category, dtype, address, bytes, ...
  EventIndex birth = 0;
  std::optional<EventIndex> death;  // absent: alive when the trace ends
};

// A buffer that is alive.
struct Buffer {
  const BufferInfo* info = nullptr;
  std::shared_ptr<Cells> contents;  // shared with other worlds: only World::apply changes it

  const Cells& cells() const { return *contents; }
  std::int64_t number() const { return info->allocate->buffer; }
  bool operator==(const Buffer& other) const;
};

// A message that has been sent and not received.
struct Transfer {
  EventIndex send = 0;  // run.event(send) is an event::Send: range, bytes, effect, ...
  std::optional<EventIndex> receive;  // absent: never received, as far as the traces tell
  // What is under way, counted from 0: what `from` held when it was sent.
  std::shared_ptr<const std::vector<Cell>> content;

  bool operator==(const Transfer& other) const;
};

struct RankState {
  std::size_t done = 0;                  // of its events
  bool over = false;                     // all of its events have been: its trace says no more
  std::optional<EventIndex> step;        // event::Step that it is in
  std::vector<EventIndex> operators;     // event::OperatorBegin under way, outermost first
  std::optional<EventIndex> collective;  // event::CollectiveBegin under way
  std::optional<EventIndex> iteration;   // event::Iteration: the last that ended
  SharedList<Buffer> buffers;            // alive, by number
  std::array<event::Bytes, kMemoryCategories> memory{};  // live and peak so far, by Memory
  event::Bytes total;
  std::optional<EventIndex> peak;       // event::Allocate with which `total` was first at its peak
  std::int64_t sent = 0, received = 0;  // bytes so far

  // Its trace ends within a collective: it was waiting, or was killed there.
  bool waiting() const { return over && collective.has_value(); }
  const Buffer* buffer(std::int64_t number) const;               // null: not alive
  SharedList<Buffer>::Iterator find(std::int64_t number) const;  // it, or where it would be
  bool operator==(const RankState& other) const;
};

// A plain value: copies share the cells, and cost little.
struct World {
  std::size_t position = 0;
  std::vector<RankState> ranks;    // by rank, all of the world; ranks without a trace stay empty
  SharedList<Transfer> in_flight;  // in order of their sends
  // Cells that messages and moves have copied so far. A hostile trace may ask for too many: then
  // contents are unknown.
  std::size_t copied = 0;

  explicit World(const Run& run);  // at position 0

  // Goes on by one event, run.event(position). What an event says of buffers that are not there, or
  // of elements outside of them, has no effect; a sentence is added to `notes` when they are asked
  // for. Requires position < run.size().
  void apply(const Run& run, std::vector<std::string>* notes = nullptr);

  // Bytes of memory that a copy may come to need of its own.
  std::size_t weight() const;
  bool operator==(const World& other) const;
};

// For views that draw a change.
// Which elements an event gives new contents: none, one place, or a library collective's parts.
struct Change {
  std::int64_t buffer = 0, at = 0, size = 0;  // where: number of the buffer, elements
};
std::vector<Change> changes_of(const TraceEvent& event);

}  // namespace zero::replay
