#include "visualizer/view/memory_layout.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace zero::view {

MemoryParts memory_parts(Rect area, int runs, int legend_lines) {
  constexpr float kScale = 62, kTitle = 20, kLeast = 24;
  MemoryParts parts;
  parts.heading = area.cut_top(24);
  parts.legend = area.cut_top(20 * static_cast<float>(legend_lines));
  area.cut_top(4);
  parts.iterations = area.cut_bottom(18);
  parts.steps = area.cut_bottom(18);
  area.cut_bottom(4);
  parts.steps.x0 = parts.iterations.x0 = std::min(area.x0 + kScale, area.x1);
  // At whole pixels, so that a column of a plot is one of the screen.
  area = {std::round(area.x0), std::round(area.y0), std::floor(area.x1), std::floor(area.y1)};
  const float gap = 8, n = static_cast<float>(runs);
  const float each = std::floor((area.height() - gap * (n - 1)) / n);
  if (each < kTitle + kLeast) return parts;
  for (int r = 0; r < runs; ++r) {
    Rect band = area.cut_top(each);
    area.cut_top(gap);
    MemoryParts::Band b;
    b.title = band.cut_top(kTitle);
    b.scale = band.cut_left(kScale);
    b.plot = band;
    parts.bands.push_back(b);
  }
  return parts;
}

std::vector<std::int64_t> ticks(std::int64_t most, int count) {
  std::vector<std::int64_t> result = {0};
  if (most <= 0 || count < 1) return result;
  const auto each = static_cast<std::uint64_t>((most + count - 1) / count);
  const auto step = static_cast<std::int64_t>(std::bit_ceil(each));
  for (std::int64_t tick = step; tick <= most; tick += step) result.push_back(tick);
  return result;
}

std::string tick_text(std::int64_t bytes) {
  if (bytes == 0) return "0";
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  for (; bytes % 1024 == 0 && unit < 6; ++unit) bytes /= 1024;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

namespace {

template <class Same>
std::vector<AxisPart> joined(const replay::Alignment& alignment, Same same) {
  std::vector<AxisPart> result;
  for (const replay::Alignment::Phase& phase : alignment.phases()) {
    if (!result.empty() && same(result.back(), phase)) {
      result.back().end = phase.end;
    } else {
      result.push_back({phase.iteration, phase.number, phase.begin, phase.end});
    }
  }
  return result;
}

}  // namespace

std::vector<AxisPart> steps_of(const replay::Alignment& alignment) {
  return joined(alignment, [](const AxisPart& a, const replay::Alignment::Phase& b) {
    return a.iteration == b.iteration && a.number == b.number;
  });
}

std::vector<AxisPart> iterations_of(const replay::Alignment& alignment) {
  return joined(alignment, [](const AxisPart& a, const replay::Alignment::Phase& b) {
    return a.iteration == b.iteration;
  });
}

}  // namespace zero::view
