// For tests of views: runs of the stages as sessions, and one view drawn alone.
#pragma once

#include <imgui.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/files.h"
#include "tests/support/stage.h"
#include "visualizer/export/headless.h"
#include "visualizer/raster/rasteriser.h"
#include "visualizer/view/views.h"

namespace zero::view {

// What was drawn.
struct Sheet {
  std::vector<Mark> marks;
  std::vector<Label> labels;
  Image image;

  bool says(const std::string& text) const {
    for (const Label& label : labels) {
      if (label.text == text) return true;
    }
    return false;
  }
};

// draw(context), in a picture of the size of `head`.
template <class Draw>
Sheet draw_alone(const Headless& head, Session& session, const Input& input, Draw draw) {
  head.make_current();
  const Rect area = head.area();
  ImGui::GetIO().DisplaySize = {area.width(), area.height()};
  ImGui::GetIO().DeltaTime = 1.0f / 60;
  ImGui::NewFrame();
  Canvas canvas(ImGui::GetBackgroundDrawList(), head.theme(), head.fonts());
  canvas.fill(area, head.theme().background);
  Context context{canvas, session, input};
  draw(context);
  ImGui::Render();
  Sheet sheet{canvas.marks(), canvas.labels(),
              Image::of_size(static_cast<int>(area.width()), static_cast<int>(area.height()))};
  zero::draw(*ImGui::GetDrawData(), *ImGui::GetIO().Fonts, sheet.image);
  return sheet;
}

// Empty, or the first label that is not where it should be: within its box, which is within `area`.
inline std::string misplaced(const Sheet& sheet, const Rect& area) {
  for (const Label& label : sheet.labels) {
    if (!label.box.contains(label.ink, 1.01f) || !area.contains(label.box, 1.01f)) {
      return label.text;
    }
  }
  return "";
}

// Traces DIRECTORY of a small run with values.
inline void trace_stage(const std::string& stage, int ranks, const std::string& directory,
                        std::vector<std::string> more = {}) {
  Work work;
  work.ranks = ranks;
  work.batch = 2 * ranks;
  work.iterations = 2;
  work.more = {"--trace", directory, "--trace-iterations", "0", "--trace-values"};
  work.more.insert(work.more.end(), more.begin(), more.end());
  run_stage(stage, work);
}

}  // namespace zero::view
