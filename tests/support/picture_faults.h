// What is wrong with the layout of a picture, whatever it shows: words outside of their boxes or
// over each other, and things to point at that are not in the picture.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "visualizer/view/canvas.h"

namespace zero::view {

inline std::string to_string(const Rect& r) {
  return fmt::format("[{:.0f},{:.0f} to {:.0f},{:.0f}]", r.x0, r.y0, r.x1, r.y1);
}

// One sentence each, about these labels alone. Ink is a line's height and its letters' width: one
// pixel more is what rounding to whole pixels may add.
inline std::vector<std::string> faults_of(std::span<const Label> labels, const Rect& area) {
  constexpr float kRounding = 1.01f;
  std::vector<std::string> faults;
  std::vector<const Label*> sorted;
  for (const Label& label : labels) {
    if (!label.box.contains(label.ink, kRounding))
      faults.push_back(fmt::format("'{}' {} is not in its box {}", label.text, to_string(label.ink),
                                   to_string(label.box)));
    if (!area.contains(label.ink, kRounding))
      faults.push_back(
          fmt::format("'{}' {} is not in the picture", label.text, to_string(label.ink)));
    sorted.push_back(&label);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Label* a, const Label* b) { return a->ink.y0 < b->ink.y0; });
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Label& a = *sorted[i];
    for (std::size_t j = i + 1; j < sorted.size() && sorted[j]->ink.y0 < a.ink.y1; ++j) {
      const Label& b = *sorted[j];
      if (a.ink.overlaps(b.ink, kRounding))
        faults.push_back(fmt::format("'{}' {} lies over '{}' {}", a.text, to_string(a.ink), b.text,
                                     to_string(b.ink)));
    }
  }
  return faults;
}

inline std::vector<std::string> faults_of(std::span<const Mark> marks, const Rect& area) {
  std::vector<std::string> faults;
  for (const Mark& mark : marks) {
    if (mark.box.empty() || !area.contains(mark.box, 0.51f))
      faults.push_back(fmt::format("a mark of kind {} of run {} at {} is not in the picture",
                                   static_cast<int>(mark.target.kind), mark.target.run,
                                   to_string(mark.box)));
  }
  return faults;
}

}  // namespace zero::view
