// The words beside a collective's cells: the names of the ranks and rows, and the legend.
#include <fmt/format.h>

#include <algorithm>

#include "visualizer/view/collective_paint.h"
#include "visualizer/view/story_waiting.h"

namespace zero::view {

using namespace replay;

std::string spoken(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

void CollectivePainter::names() {
  for (int column = 0; column < layout_.shape().ranks; ++column) {
    const int r = story_.columns()[static_cast<std::size_t>(column)];
    Rect box = layout_.heading(column);
    box.y1 -= std::min(5.0f, box.height() * 0.2f);
    canvas_.fill(box, theme_.rank(r), 3);
    const auto halt = halt_of(context_.session, run_, r);
    const bool owner = collective_.owner == r;
    if (owner) canvas_.outline(box, theme_.text, 2, 3);
    if (halt && halt->broken) canvas_.outline(box.inset(-1), theme_.warning, 2, 3);
    // As much as there is room for.
    const std::string name = fmt::format("GPU {}", r), number = fmt::format("{}", r);
    const std::string texts[] = {owner ? name + ", owner" : name, name, number};
    for (const std::string& text : texts) {
      bool fits = false;
      for (const Font font : {Font::strong, Font::small}) {
        fits = canvas_.width_of(text, font) < box.width() - (font == Font::strong ? 6.0f : 2.0f) &&
               canvas_.line_height(font) <= box.height();
        if (!fits) continue;
        canvas_.label(box.inset(1, 0), text, {theme_.rank_ink(r), font, Align::center});
        break;
      }
      if (fits) break;
    }
  }
  if (layout_.shape().ring) return;
  const int rows = std::min(layout_.shape().rows, static_cast<int>(story_.rows().size()));
  for (int row = 0; row < rows; ++row) {
    const Rect box = layout_.row_label(row);
    if (box.empty()) continue;
    const CollectiveStory::Row& what = story_.rows()[static_cast<std::size_t>(row)];
    std::string text = story_.rows_are_chunks() ? fmt::format("chunk {}", row)
                       : what.owner >= 0        ? fmt::format("shard {}", what.owner)
                                                : std::string();
    bool high = box.height() >= canvas_.line_height(Font::body);
    if (what.last >= 0) {
      const std::string brief = fmt::format("{} – {}", what.owner, what.last);
      text = "shards " + brief;
      high = high && canvas_.width_of(text, Font::body) <= box.width();
      if (canvas_.width_of(text, Font::small) > box.width()) text = brief;
    }
    if (box.height() < canvas_.line_height(Font::small)) continue;
    canvas_.label(box, text, {theme_.muted, high ? Font::body : Font::small, Align::right});
  }
}

void CollectivePainter::legend(Rect area, Font font) {
  const bool in_a_row = font == Font::small;
  struct Item {
    std::string_view text;
    int lit;  // stripes; all: the average
    float alpha;
    bool slot;
  };
  const bool adds = story_.adds();
  const auto all = static_cast<int>(stripes_.size());
  std::vector<Item> items;
  if (adds) {
    items.push_back({"a GPU's own values", 1, 1, false});
    if (story_.has_sums()) items.push_back({"a sum under way, in scratch", 2, 1, true});
    items.push_back({"the average of all", all, 1, false});
    if (!collective_.opaque) items.push_back({"added already", 1, kSpentPart, false});
  } else {
    items.push_back({"the values of a GPU", 1, 1, false});
    items.push_back({"from before, to be overwritten", 1, kOldPart, false});
  }
  const float line = canvas_.line_height(font);
  for (const Item& item : items) {
    const float width = 36 + 8 + canvas_.width_of(item.text, font) + 2;
    if (in_a_row && width > area.width()) return;
    Rect box = in_a_row ? area.cut_left(width) : area.cut_top(line + 14);
    area.cut_left(in_a_row ? 18.0f : 0.0f);
    if (box.height() < line || box.width() < 80) return;
    Rect sample = Rect::of_size(box.x0, box.center().y - 7, 36, item.slot ? 10 : 14);
    canvas_.fill(sample, empty());
    const int lit = std::min(item.lit, all);
    const float each = sample.width() / static_cast<float>(adds ? all : 1);
    for (int i = 0; i < lit; ++i) {
      const float x = sample.x0 + static_cast<float>(i) * each;
      canvas_.fill({x, sample.y0, x + each, sample.y1},
                   with_alpha(colour_of(stripes_[static_cast<std::size_t>(i)]), item.alpha));
    }
    if (item.slot) canvas_.outline(sample, theme_.muted);
    else if (item.alpha == 1 && (!adds || item.lit == all)) canvas_.outline(sample, theme_.text, 2);
    box.x0 = sample.x1 + 8;
    const Font fitting = canvas_.width_of(item.text, font) > box.width() ? Font::small : font;
    canvas_.label(box, item.text, {theme_.muted, fitting, Align::left});
  }
}

}  // namespace zero::view
