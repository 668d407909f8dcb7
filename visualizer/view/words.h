// Numbers, ranges and events in words, as inspect and tooltips show them.
#pragma once

#include <optional>
#include <string>

#include "visualizer/replay/player.h"
#include "visualizer/replay/run.h"

namespace zero::view {

std::string brief_bytes(std::int64_t bytes);  // "1.50 MiB", "4,096 B"
std::string range_text(Range range);          // "[0, 4,096)"
std::string rank_text(const replay::RankSet& ranks,
                      int world_size);  // "ranks 0, 1, 3"; "all 4 ranks"
std::string number_text(double value);  // "-0.010559"

// The file's name and line, without its folder: "rank1.jsonl:7".
std::string line_text(const replay::Run& run, replay::EventIndex event);

// The step that an event's rank was in: null before its first.
const event::Step* step_of(const replay::Run& run, replay::EventIndex event);
// "iteration 1, step 2, block 3": iterations are counted from 1, as in the caption.
std::string step_text(const event::Step* step);

// The positions of the flat vector that [begin, end) of a buffer stands for.
std::optional<Range> positions_of(const event::Allocate& buffer, std::int64_t begin,
                                  std::int64_t end);
// The names in `all` that `positions` touch: "block 0", "block 0 – head (6)".
std::string names_at(const std::vector<event::NamedRange>& all, Range positions);

// "average of all 4 ranks", "sum of ranks 0, 2", "local gradient of rank 1".
std::string content_text(const replay::Content& content, int world_size);

// What an event did to an element: "reduce_scatter 2/3: sum from rank 1, own added".
std::string touch_text(const replay::Run& run, const replay::Touched& touched);

}  // namespace zero::view
