#include "visualizer/view/story_steps.h"

#include <algorithm>
#include <map>

namespace zero::view {

constexpr double kBefore = 1e-3;  // of the clock, where an event takes 1 or more

std::vector<StepBegin> steps_of(const std::vector<std::shared_ptr<const replay::Run>>& runs,
                                const replay::Alignment& alignment) {
  std::map<std::size_t, StepBegin> by_phase;
  std::map<std::size_t, double> ends;  // where the first run has begun the next step
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const replay::Chapter& chapter : runs[r]->chapters()) {
      const double clock = alignment.clock(r, chapter.all_in);
      const std::size_t phase = alignment.phase_at(clock - 1e-6);
      StepBegin& step = by_phase
                            .try_emplace(phase, StepBegin{0, phase, chapter.iteration,
                                                          chapter.number, chapter.unit})
                            .first->second;
      step.clock = std::max(step.clock, clock);
      double& end = ends.try_emplace(phase, alignment.length()).first->second;
      end = std::min(end, alignment.clock(r, chapter.end));
    }
  }
  std::vector<StepBegin> steps;
  for (auto& [phase, step] : by_phase) {
    // A short step may be over in one run before the slowest rank of another has begun it.
    if (step.clock >= ends[phase]) step.clock = std::max(0.0, ends[phase] - kBefore);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace zero::view
