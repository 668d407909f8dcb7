// Several runs on one clock: the same step of the same unit at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "visualizer/replay/run.h"

namespace zero::replay {

// The clock is a row of phases: what a step does for a unit. A step that is about no single unit is
// cut where an outermost operator begins to work on another unit. A phase lasts as long as in the
// run that has most events in it; a run that does not have it waits.
class Alignment {
 public:
  struct Phase {
    std::int64_t iteration = -1;
    int number = 0;
    std::string unit;           // empty: none
    double begin = 0, end = 0;  // on the clock
    std::vector<bool> has;      // by run: false where it waits
  };

  explicit Alignment(const std::vector<std::shared_ptr<const Run>>& runs);

  double length() const;  // of the clock, which begins at 0
  const std::vector<Phase>& phases() const { return phases_; }
  std::size_t phase_at(double clock) const;

  // Both never decrease. position(r, clock(r, p)) is p.
  std::size_t position(std::size_t run, double clock) const;
  double clock(std::size_t run, std::size_t position) const;

 private:
  struct Point {
    double clock = 0;
    std::size_t position = 0;
  };
  std::vector<Phase> phases_;
  std::vector<std::vector<Point>> lines_;  // by run: straight lines between these
};

}  // namespace zero::replay
