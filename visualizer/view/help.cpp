// Every key and what it does, over the picture.
#include <algorithm>

#include "visualizer/view/story_keys.h"
#include "visualizer/view/views.h"

namespace zero::view {

void draw_help(Context& context, Rect area) {
  Canvas& canvas = context.canvas;
  const Theme& theme = canvas.theme();
  const auto& help = key_help();
  canvas.fill(area, with_alpha(theme.background, 0.72f));
  const auto groups = static_cast<float>(
      std::count_if(help.begin(), help.end(), [](const KeyHelp& k) { return !k.group.empty(); }));
  const float line = 21;
  const float height =
      std::min(area.height() - 20, 62 + line * static_cast<float>(help.size()) + 8 * (groups - 1));
  const float width = std::min(area.width() - 20, 560.0f);
  Rect box =
      Rect::of_size(area.center().x - width / 2, area.center().y - height / 2, width, height);
  canvas.fill(box, theme.background, 10);
  canvas.outline(box, theme.faint, 1, 10);
  Target target;
  target.kind = Target::Kind::control;
  canvas.mark(area, target);
  Rect rest = box.inset(24, 14);
  canvas.label(rest.cut_top(26), "Keys", {0, Font::title});
  rest.cut_top(6);
  // All of them, however small the window is: closer together, if need be.
  const float each =
      std::min(line, (rest.height() - 8 * (groups - 1)) / static_cast<float>(help.size()));
  const float gap = each < line ? 3.0f : 8.0f;
  bool first = true;
  for (const KeyHelp& key : help) {
    if (!key.group.empty() && !first) rest.cut_top(gap);
    first = false;
    Rect row = rest.cut_top(each);
    canvas.label(row.cut_left(std::min(80.0f, row.width() * 0.2f)), key.group,
                 {theme.muted, Font::small});
    canvas.label(row.cut_left(std::min(110.0f, row.width() * 0.3f)), key.keys, {0, Font::strong});
    canvas.label(row, key.what);
  }
}

}  // namespace zero::view
