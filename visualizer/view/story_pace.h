// How quickly a replay goes: seconds of the viewer's time at each moment of the clock.
#pragma once

#include <memory>
#include <vector>

#include "visualizer/replay/alignment.h"
#include "visualizer/replay/run.h"
#include "visualizer/view/story_steps.h"

namespace zero::view {

// In logical time a message takes long enough to be followed, with a rest when it has arrived; what
// is between messages passes quickly; a step that has ended stays for a moment. Side by side the
// slowest run sets the pace. In measured time the viewer's seconds are the measured nanoseconds,
// made so much longer that an iteration can be watched.
class Pace {
 public:
  static constexpr double kMessage = 0.45;  // seconds: from a message's send to its receive
  static constexpr double kPause = 0.6;     // at the end of a step

  Pace(const std::vector<std::shared_ptr<const replay::Run>>& runs,
       const replay::Alignment& alignment, const std::vector<StepBegin>& steps);

  double length() const { return knots_.back().seconds; }
  // Each is the other's inverse; both increase.
  double seconds(double clock) const;
  double clock(double seconds) const;

  // A part of the clock, and the seconds that it takes at least.
  struct Stretch {
    double begin = 0, end = 0;  // on the clock
    double seconds = 0;
  };

 private:
  struct Knot {
    double clock = 0, seconds = 0;
  };
  std::vector<Knot> knots_;  // straight lines between these
};

}  // namespace zero::view
