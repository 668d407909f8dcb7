// Memory over time: one band per run, stacked by category, on one clock and one scale.
#include <fmt/format.h>

#include <cmath>

#include "common/memory/bytes.h"
#include "visualizer/view/bytes_facts.h"
#include "visualizer/view/kept.h"
#include "visualizer/view/memory_layout.h"
#include "visualizer/view/views.h"
#include "visualizer/view/words.h"

namespace zero::view {
namespace {

// From the bottom: what stays while a run trains, then what comes and goes.
// Of Target::control: the rank is the one to show.
constexpr std::size_t kMemoryRankControl = 1000;

constexpr Memory kStack[] = {Memory::parameters,    Memory::gradients, Memory::optimizer_states,
                             Memory::communication, Memory::workspace, Memory::activations,
                             Memory::temporary};

struct Scale {
  double clocks = 1, bytes = 1;  // that a plot is wide and high

  float x(const Rect& plot, double clock) const {
    return plot.x0 + static_cast<float>(clock / clocks) * plot.width();
  }
  float y(const Rect& plot, std::int64_t b) const {
    return std::round(plot.y1 - static_cast<float>(static_cast<double>(b) / bytes) * plot.height());
  }
};

// Columns of the screen, next to each other, that show one step.
struct Segment {
  float x0, x1;
  const MemoryStep* step;
};

std::vector<Segment> segments_of(const MemoryCurve& curve, const Rect& plot) {
  std::vector<Segment> segments;
  const auto& columns = curve.columns(std::max(1, static_cast<int>(plot.width())));
  float x = plot.x0;
  for (const MemoryStep* step : columns) {
    if (segments.empty() || segments.back().step != step) segments.push_back({x, x, step});
    segments.back().x1 = ++x;
  }
  return segments;
}

// A pattern over an area of many narrow boxes, which Canvas::pattern leaves out each by itself.
void draw_pattern(Canvas& canvas, const std::vector<Rect>& boxes, const Style& style) {
  const Colour ink = with_alpha(style.ink, 0.16f);
  if (style.pattern != Pattern::dots && style.pattern != Pattern::horizontal) {
    for (const Rect& box : boxes) canvas.pattern(box, style.pattern, ink);
    return;
  }
  constexpr float kApart = 6;
  const auto first = [](float from) { return std::ceil(from / kApart) * kApart; };
  for (const Rect& box : boxes) {
    for (float y = first(box.y0 + 1); y + 1 < box.y1; y += kApart) {
      if (style.pattern == Pattern::horizontal) {
        canvas.fill({box.x0, y, box.x1, y + 1}, ink);
        continue;
      }
      for (float x = first(box.x0); x < box.x1; x += kApart) {
        canvas.fill(Rect::of_size(x, y, 2, 2), ink);
      }
    }
  }
}

void draw_areas(Canvas& canvas, const std::vector<Segment>& segments, const Rect& plot,
                const Scale& scale) {
  std::vector<std::int64_t> below(segments.size(), 0);
  std::vector<Rect> boxes;
  for (const Memory category : kStack) {
    const Style& style = canvas.theme().category(category);
    boxes.clear();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const std::int64_t bytes = segments[i].step->live[static_cast<std::size_t>(category)];
      const float bottom = scale.y(plot, below[i]), top = scale.y(plot, below[i] + bytes);
      below[i] += bytes;
      if (top >= bottom) continue;
      Rect* last = boxes.empty() ? nullptr : &boxes.back();
      if (last && last->x1 == segments[i].x0 && last->y0 == top && last->y1 == bottom) {
        last->x1 = segments[i].x1;
      } else {
        boxes.push_back({segments[i].x0, top, segments[i].x1, bottom});
      }
    }
    for (const Rect& box : boxes) canvas.fill(box, style.fill);
    draw_pattern(canvas, boxes, style);
  }
}

// What of the stack is at a height, and the height within its category.
std::optional<Memory> category_at(const MemoryStep& step, std::int64_t& bytes) {
  for (const Memory category : kStack) {
    const std::int64_t here = step.live[static_cast<std::size_t>(category)];
    if (bytes < here) return category;
    bytes -= here;
  }
  return std::nullopt;
}

// Where a band is on the screen: a box for each run of columns in which nothing below it changes.
template <class Visit>
void visit_boxes(const MemoryBand& band, const std::vector<const MemoryStep*>& columns,
                 const Rect& plot, const Scale& scale, Visit visit) {
  Rect box;
  for (int column = band.first; column < band.last; ++column) {
    const MemoryStep& step = *columns[static_cast<std::size_t>(column)];
    std::int64_t below = band.below;
    for (const Memory category : kStack) {
      if (category == band.category) break;
      below += step.live[static_cast<std::size_t>(category)];
    }
    const float bottom = scale.y(plot, below), top = scale.y(plot, below + band.bytes);
    const float x = plot.x0 + static_cast<float>(column);
    if (box.x1 == x && box.y0 == top && box.y1 == bottom) {
      box.x1 = x + 1;
      continue;
    }
    if (!box.empty()) visit(box);
    box = {x, top, x + 1, bottom};
  }
  if (!box.empty()) visit(box);
}

Target moment(int run, int rank, const MemoryStep& step, std::optional<Memory> category) {
  Target target{Target::Kind::moment, run, rank};
  target.event = *step.event;
  if (category) {
    target.begin = static_cast<std::int64_t>(*category);
    target.end = target.begin + 1;
  }
  return target;
}

class Bands {
 public:
  Bands(Context& context, Rect area)
      : context_(context), canvas_(context.canvas), session_(context.session) {
    const int lines = lay_out(area.width(), [](const Entry&, const Rect&) {});
    parts_ = memory_parts(area, session_.size(), lines);
    scale_.clocks = std::max(session_.length(), 1.0);
    std::int64_t most = 1;
    for (int r = 0; r < session_.size(); ++r) most = std::max(most, curve(r).peak().total);
    for (int r = 0; r < session_.size(); ++r) {
      // A budget far above is said in words: its line would press the curves flat.
      const auto budget = curve(r).budget();
      if (budget && *budget <= 2 * most) highest_ = std::max(highest_, *budget);
    }
    highest_ = std::max(highest_, most);
    scale_.bytes = static_cast<double>(highest_) * 1.06;
  }

  void draw() {
    draw_heading();
    draw_legend();
    for (std::size_t i = 0; i < parts_.bands.size(); ++i) {
      draw_band(static_cast<int>(i), parts_.bands[i]);
    }
    draw_axis();
    draw_playhead();
  }

 private:
  const MemoryCurve& curve(int r) const { return memory_curve(session_, r, session_.rank); }

  std::optional<std::int64_t> claim_of(int r) const {
    return session_.derived<BytesFacts>().claims(r).model_states;
  }

  void draw_heading() {
    Rect row = parts_.heading;
    const std::string title = fmt::format("Memory of GPU {} over time", session_.rank);
    const float width = canvas_.width_of(title, Font::strong);
    canvas_.label(row.cut_left(std::min(width + 1, row.width())), title, {0, Font::strong});
    row.cut_left(14);
    const int ranks = session_.world_size();
    if (!context_.controls || ranks < 2 || row.width() < static_cast<float>(ranks) * 24) return;
    for (int r = 0; r < ranks; ++r) {
      const Rect box = row.cut_left(22).inset(0, 2);
      row.cut_left(2);
      const bool chosen = r == session_.rank;
      const Theme& theme = canvas_.theme();
      canvas_.fill(box, chosen ? theme.rank(r) : theme.panel, 4);
      canvas_.outline(box, theme.rank(r), 1, 4);
      canvas_.label(box, std::to_string(r),
                    {chosen ? theme.rank_ink(r) : theme.muted, Font::small, Align::center});
      Target target{Target::Kind::control, -1, r};
      target.event = kMemoryRankControl;
      canvas_.mark(box, target);
      if (pressed(box)) session_.rank = r;
    }
  }

  // One entry: a style, or, without one, the line of the closed form.
  struct Entry {
    const Style* style;
    std::string_view text;
  };
  std::vector<Entry> legend() const {
    std::vector<Entry> entries;
    for (const Memory category : kStack) {
      bool there = false;
      for (int r = 0; r < session_.size() && !there; ++r) {
        there = curve(r).highest(category) > 0;
      }
      const Style& style = canvas_.theme().category(category);
      if (there) entries.push_back({&style, style.name});
    }
    bool claimed = false;
    for (int r = 0; r < session_.size(); ++r) claimed = claimed || claim_of(r);
    if (claimed) entries.push_back({nullptr, "formula of model states"});
    return entries;
  }

  // Lays the entries out in lines of `width`, as many as it takes; returns how many.
  template <class Visit>
  int lay_out(float width, Visit visit) const {
    float x = 0;
    int line = 0;
    for (const Entry& entry : legend()) {
      const float wide = 20 + canvas_.width_of(entry.text, Font::small) + 1;
      if (x > 0 && x + wide > width) {
        x = 0;
        ++line;
      }
      visit(entry, Rect::of_size(x, static_cast<float>(20 * line), std::min(wide, width), 20));
      x += wide + 14;
    }
    return line + 1;
  }

  void draw_legend() {
    const Theme& theme = canvas_.theme();
    const Rect& area = parts_.legend;
    lay_out(area.width(), [&](const Entry& entry, Rect box) {
      box = {box.x0 + area.x0, box.y0 + area.y0, box.x1 + area.x0, box.y1 + area.y0};
      if (!area.contains(box, 0.5f)) return;
      Rect chip = Rect::of_size(std::round(box.x0), std::round(box.center().y) - 6, 14, 12);
      if (entry.style) {
        canvas_.fill(chip, entry.style->fill);
        canvas_.pattern(chip, entry.style->pattern, with_alpha(entry.style->ink, 0.3f));
      } else {
        canvas_.fill({chip.x0, chip.y0 + 6, chip.x0 + 4, chip.y0 + 7}, theme.text);
        canvas_.fill({chip.x0 + 8, chip.y0 + 6, chip.x0 + 12, chip.y0 + 7}, theme.text);
      }
      box.cut_left(20);
      canvas_.label(box, entry.text, {theme.muted, Font::small});
    });
  }

  void draw_band(int r, const MemoryParts::Band& band) {
    const Theme& theme = canvas_.theme();
    canvas_.fill(band.plot, theme.panel);
    const auto marks = ticks(highest_, std::clamp(static_cast<int>(band.plot.height() / 22), 1, 8));
    for (const std::int64_t tick : marks) {
      const float y = scale_.y(band.plot, tick);
      if (y > band.plot.y0) canvas_.fill({band.plot.x0, y, band.plot.x1, y + 1}, theme.faint);
      const Rect box{band.scale.x0, y - 8, band.scale.x1 - 6, y + 8};
      canvas_.label(box, tick_text(tick), {theme.muted, Font::small, Align::right});
    }
    const MemoryCurve& shown = curve(r);
    draw_areas(canvas_, segments_of(shown, band.plot), band.plot, scale_);
    draw_buffers(shown, band);
    // The grid once more, faintly, over the areas.
    for (const std::int64_t tick : marks) {
      const float y = scale_.y(band.plot, tick);
      if (tick > 0)
        canvas_.fill({band.plot.x0, y, band.plot.x1, y + 1}, with_alpha(theme.text, 0.08f));
    }
    draw_claim(r, band);
    draw_budget(shown, band);
    draw_moment(r, shown, band);
    draw_title(r, shown, band);
  }

  // Lines between the buffers of a category, where they are high enough to be told apart.
  void draw_buffers(const MemoryCurve& shown, const MemoryParts::Band& band) {
    const int width = std::max(1, static_cast<int>(band.plot.width()));
    const auto& columns = shown.columns(width);
    const double least = 4 * scale_.bytes / band.plot.height();
    for (const MemoryBand& buffer : shown.bands(width)) {
      if (static_cast<double>(buffer.bytes) < least) continue;
      const Colour ink = with_alpha(canvas_.theme().category(buffer.category).ink, 0.3f);
      visit_boxes(buffer, columns, band.plot, scale_, [&](const Rect& box) {
        canvas_.fill({box.x0, box.y0, box.x1, box.y0 + 1}, ink);
      });
    }
  }

  // Where the model states end, as the formulas say: the top of what is lowest in the stack.
  void draw_claim(int r, const MemoryParts::Band& band) {
    const auto claim = claim_of(r);
    if (!claim || *claim > highest_) return;
    const float y = scale_.y(band.plot, *claim);
    for (float x = band.plot.x0; x < band.plot.x1; x += 8) {
      canvas_.fill({x, y, std::min(x + 4, band.plot.x1), y + 1}, canvas_.theme().text);
    }
  }

  void draw_budget(const MemoryCurve& shown, const MemoryParts::Band& band) {
    if (!shown.budget() || *shown.budget() > highest_) return;
    const float y = scale_.y(band.plot, *shown.budget());
    for (float x = band.plot.x0; x < band.plot.x1; x += 10) {
      canvas_.fill({x, y, std::min(x + 6, band.plot.x1), y + 2}, canvas_.theme().warning);
    }
    const Rect box{band.plot.x0 + 6, y - 17, band.plot.x1 - 6, y - 1};
    canvas_.label(y - 17 > band.plot.y0 ? box : Rect{box.x0, y + 3, box.x1, y + 19},
                  "budget " + format_bytes(*shown.budget()),
                  {canvas_.theme().warning, Font::small, Align::right});
  }

  // What the pointer is at, or else the present moment, can be pointed at; a click goes there.
  void draw_moment(int r, const MemoryCurve& shown, const MemoryParts::Band& band) {
    const Point mouse = context_.input.mouse;
    const MemoryStep* step = &shown.at(session_.clock());
    std::optional<Memory> category;
    std::int64_t buffer = -1;
    if (context_.controls && band.plot.contains(mouse)) {
      const auto& columns = shown.columns(std::max(1, static_cast<int>(band.plot.width())));
      const auto column = static_cast<std::size_t>(mouse.x - band.plot.x0);
      if (column >= columns.size()) return;
      step = columns[column];
      const double part = static_cast<double>(band.plot.y1 - mouse.y) / band.plot.height();
      auto bytes = static_cast<std::int64_t>(part * scale_.bytes);
      category = category_at(*step, bytes);
      if (category)
        buffer = draw_buffer_at(shown, band, static_cast<int>(column), *category, bytes);
      const float x = std::floor(mouse.x);
      canvas_.fill({x, band.plot.y0, x + 1, band.plot.y1}, canvas_.theme().text);
      if (pressed(band.plot)) {
        const double begin = static_cast<double>(column) * scale_.clocks / columns.size();
        session_.seek(std::max(begin, step->clock));
      }
    }
    if (!step->event) return;
    Target target = moment(r, session_.rank, *step, category);
    target.buffer = buffer;
    canvas_.mark(band.plot, target);
  }

  // Shows the whole life of the buffer at a place; returns its number, or -1.
  std::int64_t draw_buffer_at(const MemoryCurve& shown, const MemoryParts::Band& band, int column,
                              Memory category, std::int64_t bytes) {
    const int width = std::max(1, static_cast<int>(band.plot.width()));
    std::int64_t found = -1;
    for (const MemoryBand& buffer : shown.bands(width)) {
      const bool here = buffer.category == category && buffer.first <= column &&
                        column < buffer.last && buffer.below <= bytes &&
                        bytes < buffer.below + buffer.bytes;
      if (here) found = buffer.buffer;
    }
    if (found < 0) return found;
    for (const MemoryBand& buffer : shown.bands(width)) {
      if (buffer.buffer != found) continue;
      visit_boxes(buffer, shown.columns(width), band.plot, scale_, [&](Rect box) {
        box.y1 = std::max(box.y1, box.y0 + 2);  // to be seen
        canvas_.fill(box, with_alpha(canvas_.theme().text, 0.35f));
      });
    }
    return found;
  }

  // The run's name and what it holds now; the peak is named above where it is.
  void draw_title(int r, const MemoryCurve& shown, const MemoryParts::Band& band) {
    const Theme& theme = canvas_.theme();
    Rect row = band.title;
    std::string name = session_.name(r);
    if (session_.rank >= session_.run(r).world_size())
      name += fmt::format(": no GPU {}", session_.rank);
    row.cut_left(canvas_.label(row, name, {0, Font::strong}).width());
    row.cut_left(10);
    const std::string now = brief_bytes(shown.at(session_.clock()).total) + " now";
    const Rect ink = canvas_.label(row, now, {theme.accent, Font::small});
    row.cut_left(ink.width() + 16);
    if (shown.budget() && *shown.budget() > highest_) {
      const std::string budget = "budget " + brief_bytes(*shown.budget());
      row.cut_left(canvas_.label(row, budget, {theme.muted, Font::small}).width() + 16);
    }
    if (!shown.peak().event) return;
    const MemoryStep& peak = shown.peak();
    const float x = std::floor(std::min(scale_.x(band.plot, peak.clock), band.plot.x1 - 1));
    const float y = scale_.y(band.plot, peak.total);
    const event::Step* step = step_of(session_.run(r), *peak.event);
    std::string text = "peak " + brief_bytes(peak.total);
    if (step) {
      // The banner as far as its colon: the rest says what is done there.
      text += " in " + step->caption.substr(0, step->caption.find(':'));
      if (step->unit) text += ", " + *step->unit;
    }
    const float width = std::min(canvas_.width_of(text, Font::small) + 1, row.width());
    const float left = std::clamp(x - width / 2, row.x0, std::max(row.x0, row.x1 - width));
    const Rect label = canvas_.label({left, row.y0, left + width, row.y1}, text, {0, Font::small});
    canvas_.line({x, std::max(row.y1 - 2, band.plot.y0 - 3)}, {x, y}, theme.text);
    canvas_.circle({x, y}, 4, theme.background);
    canvas_.circle({x, y}, 3, theme.text);
    const Target target = moment(r, session_.rank, peak, std::nullopt);
    canvas_.mark({x - 7, y - 7, x + 7, y + 7}, target);
    if (!label.empty()) canvas_.mark(label, target);
    if (pressed({x - 7, y - 7, x + 7, y + 7}) || pressed(label)) session_.seek(peak.clock);
  }

  void draw_axis() {
    const Theme& theme = canvas_.theme();
    bool tinted = false;
    for (const AxisPart& part : steps_of(session_.alignment())) {
      const Rect box = between(parts_.steps, part);
      tinted = !tinted;
      canvas_.fill(box, tinted ? theme.panel : mixed(theme.panel, theme.faint, 0.5f));
      const std::string text = std::to_string(part.number);
      if (box.width() >= canvas_.width_of(text, Font::small) + 4) {
        canvas_.label(box, text, {theme.muted, Font::small, Align::center});
      }
    }
    canvas_.label({parts_.steps.x0 - 62, parts_.steps.y0, parts_.steps.x0 - 6, parts_.steps.y1},
                  "step", {theme.muted, Font::small, Align::right});
    for (const AxisPart& part : iterations_of(session_.alignment())) {
      const Rect box = between(parts_.iterations, part);
      if (part.begin > 0) {
        for (const MemoryParts::Band& band : parts_.bands) {
          canvas_.fill({box.x0, band.plot.y0, box.x0 + 1, band.plot.y1},
                       with_alpha(theme.text, 0.3f));
        }
        canvas_.fill({box.x0, parts_.steps.y0, box.x0 + 1, box.y1}, theme.faint);
      }
      const std::string text =
          part.iteration < 0 ? "start" : fmt::format("iteration {}", part.iteration + 1);
      canvas_.label(box.inset(4, 0), text, {theme.muted, Font::small});
    }
  }

  void draw_playhead() {
    const float x = std::round(scale_.x(parts_.steps, session_.clock()));
    const Colour accent = canvas_.theme().accent;
    for (const MemoryParts::Band& band : parts_.bands) {
      canvas_.fill({x - 1, band.plot.y0, x + 1, band.plot.y1}, accent);
    }
    canvas_.triangle({x - 6, parts_.steps.y0 + 1}, {x + 6, parts_.steps.y0 + 1},
                     {x, parts_.steps.y0 - 6}, accent);
  }

  Rect between(const Rect& row, const AxisPart& part) const {
    return {std::round(scale_.x(row, part.begin)), row.y0, std::round(scale_.x(row, part.end)),
            row.y1};
  }

  bool pressed(const Rect& box) const {
    return context_.controls && !session_.help && context_.input.pressed &&
           box.contains(context_.input.mouse);
  }

  Context& context_;
  Canvas& canvas_;
  Session& session_;
  MemoryParts parts_;
  Scale scale_;
  std::int64_t highest_ = 0;
};

}  // namespace

void draw_memory(Context& context, Rect area) { Bands(context, area).draw(); }

}  // namespace zero::view
