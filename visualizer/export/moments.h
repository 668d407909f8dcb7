// Names for moments of a session: what --at, --from and --to take.
#pragma once

#include <stdexcept>
#include <string>

#include "visualizer/view/session.h"

namespace zero {

// Says what there is instead.
struct NoSuchMoment : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A stretch of the session's clock.
struct Stretch {
  double begin = 0, end = 0;
};

// The words for --help.
extern const char* const kMomentsHelp;

// What a name stands for:
//   start, end        the clock's
//   12                a step, as `replay RUN --steps` counts those of the session's first run
//   e1000             the moment after 1,000 events of the first run
//   2:3               all of step 3 of iteration 2, counted from 1, in whichever runs it is; 0 is
//                     what comes before the first
//   2:3:block 1       the same for one unit
//   ...@40%           only that part of the way through it
// A moment is a stretch whose end is its begin. Throws NoSuchMoment.
Stretch stretch_of(const view::Session& session, const std::string& name);

// What teaches most when no moment is named: the last iteration's step that adds up the gradients,
// which is the step in which most is added up. In a run that adds up nothing: all of it. Where a
// run failed it is the moment before it frees what it has that is shown.
struct Telling {
  Stretch collective;  // the step's last one that adds up
  double after = 0;    // the end of the step: each rank holds what it keeps; or the failure
};
Telling telling_of(const view::Session& session);

}  // namespace zero
