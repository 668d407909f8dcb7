// Memory over time: one band per run, stacked by category, on one clock and one scale.
#include <fmt/format.h>

#include <cmath>

#include "common/memory/bytes.h"
#include "visualizer/view/bytes_facts.h"
#include "visualizer/view/kept.h"
#include "visualizer/view/memory_layout.h"
#include "visualizer/view/memory_stack.h"
#include "visualizer/view/views.h"
#include "visualizer/view/words.h"

namespace zero::view {
namespace {

// Of Target::control: the rank is the one to show.
constexpr std::size_t kMemoryRankControl = 1000;

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
    for (std::size_t i = 0; i < parts_.bands.size(); ++i) {
      name_budget(curve(static_cast<int>(i)), parts_.bands[i]);
    }
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
    const std::vector<int>& ranks = session_.ranks();
    const float widest = canvas_.width_of(std::to_string(ranks.back()), Font::small);
    const float chip = std::max(22.0f, widest + 8);
    const bool fits = row.width() >= static_cast<float>(ranks.size()) * (chip + 2);
    if (!context_.controls || ranks.size() < 2 || !fits) return;
    for (const int r : ranks) {
      const Rect box = row.cut_left(chip).inset(0, 2);
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
    for (const Memory category : kMemoryStack) {
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
    const MemoryStack stack(canvas_, shown, band.plot, scale_);
    stack.draw();
    // The grid once more, faintly, over the areas.
    for (const std::int64_t tick : marks) {
      const float y = scale_.y(band.plot, tick);
      if (tick > 0)
        canvas_.fill({band.plot.x0, y, band.plot.x1, y + 1}, with_alpha(theme.text, 0.08f));
    }
    draw_claim(r, band);
    draw_budget(shown, band);
    draw_moment(r, shown, band, stack);
    draw_title(r, shown, band);
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
  }

  // On a ground of its own: the playhead goes by behind it.
  void name_budget(const MemoryCurve& shown, const MemoryParts::Band& band) {
    if (!shown.budget() || *shown.budget() > highest_) return;
    const float y = scale_.y(band.plot, *shown.budget());
    const std::string text = "budget " + format_bytes(*shown.budget());
    const float width = canvas_.width_of(text, Font::small) + 1;
    if (width > band.plot.width() - 20) return;
    const float top = y - 17 > band.plot.y0 ? y - 17 : y + 3;
    const Rect box = Rect::of_size(band.plot.x1 - 6 - width, top, width, 16);
    canvas_.fill(box.inset(-4, 0), canvas_.theme().panel, 3);
    canvas_.label(box, text, {canvas_.theme().warning, Font::small, Align::right});
  }

  // What the pointer is at, or else the present moment, can be pointed at; a click goes there.
  void draw_moment(int r, const MemoryCurve& shown, const MemoryParts::Band& band,
                   const MemoryStack& stack) {
    const Point mouse = context_.input.mouse;
    const MemoryStep* step = &shown.at(session_.clock());
    MemoryStack::Place place;
    if (context_.controls && band.plot.contains(mouse)) {
      step = &stack.step_at(mouse);
      place = stack.at(mouse);
      stack.draw_life(place.buffer);
      const float x = std::floor(mouse.x);
      canvas_.fill({x, band.plot.y0, x + 1, band.plot.y1}, canvas_.theme().text);
      if (pressed(band.plot)) {
        const double part = std::floor(mouse.x - band.plot.x0) / band.plot.width();
        session_.seek_after_frame(std::max(part * scale_.clocks, step->clock));
      }
    }
    if (!step->event) return;
    Target target = moment(r, session_.rank, *step, place.category);
    target.buffer = place.buffer;
    canvas_.mark(band.plot, target);
  }

  // The run's name and what it holds now; the peak is named above where it is.
  void draw_title(int r, const MemoryCurve& shown, const MemoryParts::Band& band) {
    const Theme& theme = canvas_.theme();
    Rect row = band.title;
    std::string name = session_.name(r);
    if (session_.rank >= session_.run(r).world_size()) {
      name += fmt::format(": no GPU {}", session_.rank);
    } else if (!session_.run(r).is_traced(session_.rank)) {
      canvas_.label(row, name + fmt::format(": GPU {} is not traced", session_.rank),
                    {0, Font::strong});
      return;
    }
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
    if (pressed({x - 7, y - 7, x + 7, y + 7}) || pressed(label))
      session_.seek_after_frame(peak.clock);
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
  MemoryScale scale_;
  std::int64_t highest_ = 0;
};

}  // namespace

void draw_memory(Context& context, Rect area) { Bands(context, area).draw(); }

}  // namespace zero::view
