#include "visualizer/view/story_blocks.h"

namespace zero::view {

using namespace replay;

std::optional<std::size_t> chapter_of(const Session& session, int run,
                                      const Alignment::Phase& phase) {
  const auto index = static_cast<std::size_t>(run);
  if (!phase.has[index]) return std::nullopt;
  const auto& chapters = session.run(run).chapters();
  const std::size_t begin = session.alignment().position(index, phase.begin);
  const std::size_t end = session.alignment().position(index, phase.end);
  // The last one that has begun, its own or, in measured time, a quick rank's next one.
  const auto last = session.run(run).chapter_at(end);
  if (!last) return std::nullopt;
  std::optional<std::size_t> of_step;  // the same step for another unit
  for (std::size_t n = *last + 1; n-- > 0;) {
    const Chapter& chapter = chapters[n];
    if (chapter.iteration == phase.iteration && chapter.number == phase.number) {
      if (chapter.unit.empty() || chapter.unit == phase.unit) return n;
      if (!of_step) of_step = n;
    }
    if (chapter.all_in <= begin) break;  // all ranks have left what is before it
  }
  return of_step ? of_step : last;
}

Blocks::Blocks(const Session& session) {
  const Alignment& alignment = session.alignment();
  for (int r = 0; r < session.size(); ++r) {
    const auto index = static_cast<std::size_t>(r);
    std::vector<Block> row;
    for (const Alignment::Phase& phase : alignment.phases()) {
      Block block{phase.begin, phase.end, phase.iteration, phase.number, std::nullopt, false};
      if (phase.has[index]) block.chapter = chapter_of(session, r, phase).value_or(0);
      block.same_step = !row.empty() && row.back().number == block.number &&
                        row.back().iteration == block.iteration &&
                        row.back().chapter.has_value() == block.chapter.has_value();
      row.push_back(block);
    }
    rows.push_back(std::move(row));
  }
  for (const Alignment::Phase& phase : alignment.phases()) {
    if (iterations.empty() || iterations.back().iteration != phase.iteration) {
      iterations.push_back({phase.begin, phase.end, phase.iteration});
    }
    iterations.back().end = phase.end;
  }
}

}  // namespace zero::view
