#include "visualizer/view/story_steps.h"

#include <algorithm>
#include <map>

namespace zero::view {

std::vector<StepBegin> steps_of(const std::vector<std::shared_ptr<const replay::Run>>& runs,
                                const replay::Alignment& alignment) {
  std::map<std::size_t, StepBegin> by_phase;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const replay::Chapter& chapter : runs[r]->chapters()) {
      const double clock = alignment.clock(r, chapter.all_in);
      const std::size_t phase = alignment.phase_at(clock - 1e-6);
      StepBegin& step = by_phase
                            .try_emplace(phase, StepBegin{0, phase, chapter.iteration,
                                                          chapter.number, chapter.unit})
                            .first->second;
      step.clock = std::max(step.clock, clock);
    }
  }
  std::vector<StepBegin> steps;
  for (auto& [phase, step] : by_phase) steps.push_back(std::move(step));
  return steps;
}

}  // namespace zero::view
