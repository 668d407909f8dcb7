#include "visualizer/view/memory_stack.h"

#include <algorithm>
#include <cmath>

namespace zero::view {
namespace {

int width_of(const Rect& plot) { return std::max(1, static_cast<int>(plot.width())); }

}  // namespace

float MemoryScale::x(const Rect& plot, double clock) const {
  return plot.x0 + static_cast<float>(clock / clocks) * plot.width();
}

float MemoryScale::y(const Rect& plot, std::int64_t b) const {
  return std::round(plot.y1 - static_cast<float>(static_cast<double>(b) / bytes) * plot.height());
}

MemoryStack::MemoryStack(Canvas& canvas, const MemoryCurve& curve, const Rect& plot,
                         const MemoryScale& scale)
    : canvas_(canvas),
      plot_(plot),
      scale_(scale),
      columns_(curve.columns(width_of(plot))),
      bands_(curve.bands(width_of(plot))) {}

void MemoryStack::draw() const {
  std::vector<std::int64_t> below(columns_.size(), 0);
  for (const Memory category : kMemoryStack) draw_area(category, below);
  const double least = 4 * scale_.bytes / plot_.height();
  for (const MemoryBand& band : bands_) {
    if (static_cast<double>(band.bytes) < least) continue;
    const Colour ink = with_alpha(canvas_.theme().category(band.category).ink, 0.3f);
    visit_boxes(band, [&](const Rect& box) {
      canvas_.fill({box.x0, box.y0, box.x1, box.y0 + 1}, ink);
    });
  }
}

void MemoryStack::draw_life(std::int64_t buffer) const {
  if (buffer < 0) return;
  for (const MemoryBand& band : bands_) {
    if (band.buffer != buffer) continue;
    visit_boxes(band, [&](Rect box) {
      box.y1 = std::max(box.y1, box.y0 + 2);  // to be seen
      canvas_.fill(box, with_alpha(canvas_.theme().text, 0.35f));
    });
  }
}

// `below`: by column, what is stacked already; the category's bytes are added.
void MemoryStack::draw_area(Memory category, std::vector<std::int64_t>& below) const {
  const Style& style = canvas_.theme().category(category);
  std::vector<Rect> boxes;  // neighbouring columns of the same height are one
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const float x = plot_.x0 + static_cast<float>(i);
    const float bottom = scale_.y(plot_, below[i]);
    below[i] += columns_[i]->live[static_cast<std::size_t>(category)];
    const float top = scale_.y(plot_, below[i]);
    if (top >= bottom) continue;
    Rect* last = boxes.empty() ? nullptr : &boxes.back();
    if (last && last->x1 == x && last->y0 == top && last->y1 == bottom) {
      last->x1 = x + 1;
    } else {
      boxes.push_back({x, top, x + 1, bottom});
    }
  }
  for (const Rect& box : boxes) canvas_.fill(box, style.fill);
  draw_pattern(boxes, style);
}

// Also over boxes that are too narrow for Canvas::pattern.
void MemoryStack::draw_pattern(const std::vector<Rect>& boxes, const Style& style) const {
  const Colour ink = with_alpha(style.ink, 0.16f);
  if (style.pattern != Pattern::dots && style.pattern != Pattern::horizontal) {
    for (const Rect& box : boxes) canvas_.pattern(box, style.pattern, ink);
    return;
  }
  constexpr float kApart = 6;
  const auto first = [](float from) { return std::ceil(from / kApart) * kApart; };
  for (const Rect& box : boxes) {
    for (float y = first(box.y0 + 1); y + 1 < box.y1; y += kApart) {
      if (style.pattern == Pattern::horizontal) {
        canvas_.fill({box.x0, y, box.x1, y + 1}, ink);
        continue;
      }
      for (float x = first(box.x0); x < box.x1; x += kApart) {
        canvas_.fill(Rect::of_size(x, y, 2, 2), ink);
      }
    }
  }
}

// Where a band is on the screen: a box for each run of columns in which nothing below it changes.
template <class Visit>
void MemoryStack::visit_boxes(const MemoryBand& band, Visit visit) const {
  Rect box;
  for (int c = band.first; c < band.last; ++c) {
    const MemoryStep& step = *columns_[static_cast<std::size_t>(c)];
    std::int64_t below = band.below;
    for (const Memory category : kMemoryStack) {
      if (category == band.category) break;
      below += step.live[static_cast<std::size_t>(category)];
    }
    const float bottom = scale_.y(plot_, below), top = scale_.y(plot_, below + band.bytes);
    const float x = plot_.x0 + static_cast<float>(c);
    if (box.x1 == x && box.y0 == top && box.y1 == bottom) {
      box.x1 = x + 1;
      continue;
    }
    if (!box.empty()) visit(box);
    box = {x, top, x + 1, bottom};
  }
  if (!box.empty()) visit(box);
}

std::size_t MemoryStack::column(Point p) const {
  const float x = std::clamp(p.x - plot_.x0, 0.0f, static_cast<float>(columns_.size() - 1));
  return static_cast<std::size_t>(x);
}

const MemoryStep& MemoryStack::step_at(Point p) const { return *columns_[column(p)]; }

MemoryStack::Place MemoryStack::at(Point p) const {
  const double part = static_cast<double>(plot_.y1 - p.y) / plot_.height();
  auto bytes = static_cast<std::int64_t>(part * scale_.bytes);
  const auto c = static_cast<int>(column(p));
  for (const Memory category : kMemoryStack) {
    const std::int64_t here = step_at(p).live[static_cast<std::size_t>(category)];
    if (bytes >= here) {
      bytes -= here;
      continue;
    }
    for (const MemoryBand& band : bands_) {
      const bool there = band.category == category && band.first <= c && c < band.last &&
                         band.below <= bytes && bytes < band.below + band.bytes;
      if (there) return {category, band.buffer};
    }
    return {category, -1};
  }
  return {};
}

}  // namespace zero::view
