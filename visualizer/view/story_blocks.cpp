#include "visualizer/view/story_blocks.h"

namespace zero::view {

using namespace replay;

Blocks::Blocks(const Session& session) {
  const Alignment& alignment = session.alignment();
  for (int r = 0; r < session.size(); ++r) {
    const auto index = static_cast<std::size_t>(r);
    std::vector<Block> row;
    for (const Alignment::Phase& phase : alignment.phases()) {
      Block block{phase.begin, phase.end, phase.iteration, phase.number, std::nullopt, false};
      if (phase.has[index]) {
        // What its last event is in: the first ones may still end the chapter before.
        const std::size_t end = alignment.position(index, phase.end);
        block.chapter = session.run(r).chapter_at(end > 0 ? end - 1 : 0).value_or(0);
      }
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
