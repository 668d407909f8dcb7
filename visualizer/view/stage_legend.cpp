#include "visualizer/view/stage_legend.h"

#include <fmt/format.h>

#include "common/memory/bytes.h"
#include "visualizer/view/heat.h"

namespace zero::view {
namespace {

constexpr float kLine = 19, kSwatch = 14, kGap = 5, kApart = 12;

struct Entry {
  enum class What { category, absent, sum, owners, rank, work, untraced, words } what = What::words;
  Memory category = Memory::parameters;
  std::string words;

  float swatch() const { return what == What::words ? 0 : kSwatch + kGap; }
};

// "3 of 1,024 GPUs are traced": what the columns leave out.
void add_untraced(std::vector<Entry>& entries, const Session& session) {
  for (int r = 0; r < session.size(); ++r) {
    const std::size_t traced = session.run(r).traced().size();
    const int all = session.run(r).world_size();
    if (traced == static_cast<std::size_t>(all)) continue;
    const std::string whose = session.size() > 1 ? session.name(r) + ": " : "";
    entries.push_back({Entry::What::words,
                       {},
                       fmt::format("{}{} of {} GPUs {} traced", whose, traced, with_commas(all),
                                   traced == 1 ? "is" : "are")});
  }
}

std::vector<Entry> entries_of(const Context& context, const Lanes& lanes, double loose_scale,
                              bool widened) {
  using What = Entry::What;
  std::vector<Entry> entries;
  switch (context.session.colouring) {
    case Colouring::category:
      for (int c = 0; c < kMemoryCategories; ++c) {
        const auto category = static_cast<Memory>(c);
        if (!lanes.occurs(category)) continue;
        const Style& style = context.canvas.theme().category(category);
        entries.push_back({What::category, category, std::string(style.name)});
      }
      entries.push_back({What::absent, {}, "not held"});
      if (context.session.world_size() > 1) entries.push_back({What::sum, {}, "contributors"});
      break;
    case Colouring::storage:
      entries.push_back({What::owners, {}, "the GPU that keeps it"});
      entries.push_back({What::absent, {}, "not held"});
      break;
    case Colouring::compute:
      entries.push_back({What::owners, {}, "the GPU that computes with it"});
      entries.push_back({What::work, {}, "what it is busy with"});
      entries.push_back({What::absent, {}, "not held"});
      break;
    case Colouring::values: {
      const auto& traced = context.session.derived<ValuesTraced>();
      if (!traced.any) {
        entries.push_back({What::words, {}, "values were not traced: run with --trace-values"});
      }
      entries.push_back({What::untraced, {}, "not traced"});
      entries.push_back({What::absent, {}, "not held"});
      for (int r = 0; traced.any && r < context.session.size(); ++r) {
        if (traced.runs[static_cast<std::size_t>(r)]) continue;
        entries.push_back({What::words, {}, context.session.name(r) + ": values were not traced"});
      }
      break;
    }
  }
  // Not a difference that two digits do not show.
  const std::string scale = fmt::format("{:.2g}", loose_scale);
  if (loose_scale < 1 && scale != "1") {
    entries.push_back({What::words, {}, "the lowest bar is drawn at " + scale + " of the scale"});
  } else if (loose_scale > 1) {
    entries.push_back({What::words,
                       {},
                       fmt::format("the lowest bar is drawn at {:.0f} × the scale", loose_scale)});
  }
  if (widened) {
    entries.push_back(
        {Entry::What::words,
         {},
         fmt::format("widths below {:.0f} pixels are drawn as {:.0f}", kLeastWidth, kLeastWidth)});
  }
  add_untraced(entries, context.session);
  return entries;
}

// The heat map's own legend stands before the entries.
float first_x(const Context& context) {
  const bool heat =
      context.session.colouring == Colouring::values && context.session.derived<ValuesTraced>().any;
  return heat ? 300 + kApart : 0;
}

// Places the entries one after the other, in lines; returns how many lines.
template <class Place>
int arrange(const Context& context, const std::vector<Entry>& entries, float width, Place place) {
  float x = first_x(context);
  int line = 0;
  for (const Entry& entry : entries) {
    const float words = context.canvas.width_of(entry.words, Font::small) + 1;
    const float needed = entry.swatch() + words;
    if (x > 0 && x + needed > width) {
      x = 0;
      ++line;
    }
    place(entry, x, line, words);
    x += needed + kApart;
  }
  return line + 1;
}

void draw_swatch(Context& context, const Entry& entry, Rect box) {
  Canvas& canvas = context.canvas;
  const Theme& theme = canvas.theme();
  switch (entry.what) {
    case Entry::What::category: {
      const Style& style = theme.category(entry.category);
      canvas.fill(box, style.fill);
      canvas.pattern(box, style.pattern, with_alpha(style.ink, 0.22f));
      break;
    }
    case Entry::What::absent:
      canvas.dashed(box, theme.muted);
      break;
    case Entry::What::untraced:
      draw_untraced(canvas, box);
      break;
    case Entry::What::work:
      canvas.outline(box, theme.accent, 1);
      break;
    case Entry::What::sum:
      canvas.fill(box, mixed(theme.panel, theme.category(Memory::gradients).fill, 0.6f));
      box.y0 = box.y1 - 4;
      canvas.fill(box, mixed(theme.panel, theme.text, 0.12f));
      canvas.fill(box.column(0, 4), theme.rank(0));
      canvas.fill(box.column(2, 4), theme.rank(2));
      break;
    case Entry::What::owners:
    case Entry::What::rank:
      for (int k = 0; k < 3; ++k) canvas.fill(box.column(k, 3), theme.rank(k));
      break;
    case Entry::What::words:
      break;
  }
}

}  // namespace

float stage_legend_height(Context& context, const Lanes& lanes, Rect area) {
  const bool widened = lay_out_stages(lanes, area, kLine).widened;
  const auto entries = entries_of(context, lanes, loose_scale_of(lanes), widened);
  return kLine * static_cast<float>(arrange(context, entries, area.width(),
                                            [](const Entry&, float, int, float) {}));
}

void draw_stage_legend(Context& context, const Lanes& lanes, const StageLayout& layout) {
  const Rect area = layout.legend;
  if (area.height() < kLine) return;
  if (first_x(context) > 0) {
    draw_heat_legend(context,
                     Rect::of_size(area.x0, area.y0, std::min(300.0f, area.width()), kLine));
  }
  const auto entries = entries_of(context, lanes, layout.loose_scale, layout.widened);
  arrange(context, entries, area.width(), [&](const Entry& entry, float x, int line, float words) {
    const float y = area.y0 + kLine * static_cast<float>(line);
    if (y + kLine > area.y1 + 1) return;
    const float left = area.x0 + x;
    if (entry.swatch() > 0) {
      draw_swatch(context, entry, Rect::of_size(left, y + 4, kSwatch, kLine - 7));
    }
    const Rect room{left, y, std::max(left, area.x1), y + kLine};
    const Rect box = Rect::of_size(left + entry.swatch(), y, words, kLine).intersection(room);
    context.canvas.label(box, entry.words, {context.canvas.theme().muted, Font::small});
  });
}

}  // namespace zero::view
