// A rank's memory as areas, stacked by category and within a category by age, in one plot.
#pragma once

#include <optional>

#include "visualizer/view/canvas.h"
#include "visualizer/view/memory_curve.h"

namespace zero::view {

// From the bottom: what stays while a run trains, then what comes and goes.
inline constexpr Memory kMemoryStack[] = {
    Memory::parameters, Memory::gradients,   Memory::optimizer_states, Memory::communication,
    Memory::workspace,  Memory::activations, Memory::temporary};

// What a plot shows: the whole clock, and so many bytes.
struct MemoryScale {
  double clocks = 1, bytes = 1;  // that a plot is wide and high

  float x(const Rect& plot, double clock) const;
  float y(const Rect& plot, std::int64_t bytes) const;  // at a whole pixel
};

// Requires that the plot lies at whole pixels. Keeps references to the canvas and the curve.
class MemoryStack {
 public:
  MemoryStack(Canvas& canvas, const MemoryCurve& curve, const Rect& plot, const MemoryScale& scale);

  // The areas, and lines between the buffers that are high enough to be told apart.
  void draw() const;
  // The buffer wherever it is, shaded; nothing for -1.
  void draw_life(std::int64_t buffer) const;

  // What is at a point of the plot.
  const MemoryStep& step_at(Point p) const;
  struct Place {
    std::optional<Memory> category;
    std::int64_t buffer = -1;
  };
  Place at(Point p) const;

 private:
  std::size_t column(Point p) const;
  void draw_area(Memory category, std::vector<std::int64_t>& below) const;
  void draw_pattern(const std::vector<Rect>& boxes, const Style& style) const;
  template <class Visit>
  void visit_boxes(const MemoryBand& band, Visit visit) const;

  Canvas& canvas_;
  const Rect plot_;
  const MemoryScale scale_;
  const std::vector<const MemoryStep*>& columns_;
  const std::vector<MemoryBand>& bands_;
};

}  // namespace zero::view
