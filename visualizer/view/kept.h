// What memory and inspect work out once and keep: curves, worlds at other moments, histories.
#pragma once

#include <vector>

#include "visualizer/view/memory_curve.h"
#include "visualizer/view/session.h"

namespace zero::view {

// All last until a run or the clock changes.
const MemoryCurve& memory_curve(const Session& session, int run, int rank);
// What these two refer to lasts only until a few others have been asked for.
const replay::World& world_at(const Session& session, int run, std::size_t position);
const std::vector<replay::Touched>& history_of(const Session& session, int run,
                                               const replay::BufferInfo& buffer,
                                               std::int64_t element);

}  // namespace zero::view
