// Values as colours: how large the numbers in a cell are, where the trace carries a sample of them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "visualizer/view/views.h"

namespace zero::view {

// The scale's ends: smaller and larger sizes have the colours of the ends. The same for all cells,
// moments and runs, so that a colour always means the same.
inline constexpr double kHeatLeast = 1e-6, kHeatMost = 1e4;

// The numbers that an event carries: up to 4, the first ones of what it wrote or moved. Empty:
// the event has none, or the trace was made without values.
std::span<const double> sample_of(const TraceEvent& event);

// The size of a sample, sqrt(mean(x * x)). Infinity or NaN when one of them is not finite.
double root_mean_square(std::span<const double> values);

// The colour of a size >= 0, by its logarithm: dark is small, bright is large. 0 and what is not
// finite have colours of their own.
Colour heat_colour(double size, const Theme& theme);

// The colour of a cell: the size of the sample of the event that wrote it. Nothing when nothing was
// written, or no values were traced.
std::optional<Colour> heat_of(const replay::Run& run, const replay::Cell& cell, const Theme& theme);

// Which runs carry values at all. For Session::derived.
struct ValuesTraced {
  explicit ValuesTraced(const Session& session);
  std::vector<bool> runs;
  bool any = false;
};

// The look of what is there and of which no value was traced: hatched, so that it is not taken for
// a value.
void draw_untraced(Canvas& canvas, Rect box);
Colour untraced_ink(const Theme& theme);

// What the colours mean, in one line: about 300 x 20, at least 160.
void draw_heat_legend(Context& context, Rect area);

}  // namespace zero::view
