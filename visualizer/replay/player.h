// Moving about in a run: the world at a position that one can step, seek and play.
#pragma once

#include <memory>
#include <vector>

#include "visualizer/replay/run.h"

namespace zero::replay {

// Used by one thread at a time.
class Player {
 public:
  explicit Player(std::shared_ptr<const Run> run);

  const Run& run() const { return *run_; }
  const std::shared_ptr<const Run>& shared_run() const { return run_; }
  const World& world() const { return world_; }
  std::size_t position() const { return world_.position; }

  // Anywhere, forward and backward. Positions beyond the end are the end.
  void seek(std::size_t position);
  // To the next or previous event (of `rank` only, if given); stays when there is none.
  void next_event(int rank = -1);
  void previous_event(int rank = -1);
  // To the beginning of the next chapter; of this chapter, or, there already, of the one before.
  void next_step();
  void previous_step();

  // A newer run of the same directory (it has grown): the position stays at the same event of the
  // same rank, or at the end when it was there.
  void replace(std::shared_ptr<const Run> run);

 private:
  std::shared_ptr<const Run> run_;
  World world_;
};

// How an event touched an element of a buffer.
enum class Touch { allocated, written, sent, received, added, moved_out, moved_in, freed };
std::string_view to_string(Touch touch);

struct Touched {
  EventIndex event = 0;
  Touch how = Touch::allocated;
};

// The events that touched an element of a buffer, in order; run.where(event) is its line.
std::vector<Touched> history(const Run& run, const BufferInfo& buffer, std::int64_t element);

}  // namespace zero::replay
