// The writer of one rank's trace: JSON Lines as FORMAT.md defines them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/memory/heap.h"
#include "common/memory/tracker.h"
#include "common/trace/clock.h"
#include "common/trace/hop.h"

namespace zero {

// What the header says once, so that a reader needs no knowledge of the stage.
struct TraceHeader {
  struct NamedRange {
    std::string name;
    Range range;
  };
  std::string run;      // the same on every rank of a run
  std::string program;  // "zero2"
  int rank = 0;
  int world_size = 1;
  std::string options;                 // a JSON object
  std::string closed_form;             // a JSON object
  std::string dtype;                   // of parameters and gradients
  std::int64_t num_parameters = 0;     // without padding
  std::int64_t padded_parameters = 0;  // with
  std::vector<NamedRange> units;       // they cover [0, padded_parameters)
  std::vector<NamedRange> tensors;
  std::vector<NamedRange> shards;  // name: the owner's rank
  std::vector<int> traced;         // ranks; empty: all of them
};

// Does nothing until it is opened, and again after `last_iteration`: a program calls it always.
// Each line is complete when it is written; a run that dies leaves a readable file.
class Trace : public HeapObserver {
 public:
  // `place` tells where the rank is; it must outlive the trace.
  explicit Trace(const Place& place);
  ~Trace() override;

  // Creates DIRECTORY/rank<r>.jsonl and writes the header. `iterations`: how many are told (0:
  // all); `values`: a small sample of the real values with each write and hop. Throws
  // std::runtime_error when the file cannot be written.
  //
  // With a clock that knows its times later, lines wait for them. Where the file must be complete
  // (FORMAT.md says where) the program waits, too, which may throw what Clock::wait throws.
  void open(const std::string& directory, const TraceHeader& header, int iterations, bool values,
            std::unique_ptr<Clock> clock = make_wall_clock());
  // For a rank that is not traced: removes what an earlier run may have left of it there, and rank
  // 0 what it left of ranks that this run has not.
  static void leave_out(const std::string& directory, int rank, int world_size);
  bool recording() const { return file_ != nullptr; }

  // The rank's place has changed: a step (with its unit, if any) begins.
  void step();

  // HeapObserver
  void allocated(const Allocation& allocation) override;
  void released(const Allocation& allocation) override;
  void wrote(View view, Written what) override;
  void operator_begins(std::string_view name) override;
  void operator_ends(std::string_view name) override;

  // A collective's own span on this rank: between its first and its last message.
  void collective_begins(std::int64_t id, std::string_view name, std::string_view algorithm,
                         Range range, int owner);  // owner -1: all
  void collective_ends(std::int64_t id);

  // `from` is about to be sent: a buffer's own values, or a running chunk in communication scratch.
  // Told before the message leaves, so that on any clock a receive comes after its send.
  void sent(const Hop& hop, View from);
  // A message arrived and `into` now holds
  //   copy                    the message
  //   add, with `own`         the message + own (what `into` held before is gone)
  //   add, `own` empty        the message + what `into` held before
  // divided by `divisor`: K on the hop that makes the average, 1 on the others.
  void received(const Hop& hop, View into, View own, int divisor = 1);
  // The same inside this rank, without a message: `from` takes the place of the message. The
  // owner's own piece in a broadcast, own values that enter a sum, a sum that lands divided in its
  // buffer. hop.source and hop.destination are this rank.
  void moved(const Hop& hop, View from, View into, int divisor = 1);
  // A collective of MPI or NCCL, opaque: `into` holds the result of all ranks' contributions.
  // Between collective_begins, which says the owner, and collective_ends.
  void library(std::int64_t id, std::string_view name, View into);

  // The end of an iteration: loss (not finite: null), and live and peak bytes per category.
  void iteration(double loss, bool skipped, const MemoryTracker& tracker);

  // This rank fails: the last line of its trace. Waits for nothing: what the clock does not know by
  // now has not happened, and is told as of now.
  void failed(std::string_view message);
  void close();

 private:
  // Implementation: trace.cpp.
  struct File;
  // The last line. It and what is still open get the program's own time.
  void finish(std::string_view reason, std::string_view message);
  const Place& place_;
  std::unique_ptr<File> file_;
};

}  // namespace zero
