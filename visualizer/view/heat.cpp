#include "visualizer/view/heat.h"

#include <algorithm>
#include <cmath>

namespace zero::view {
namespace {

// Equally bright steps from dark violet to pale yellow: also in black and white it is a scale.
constexpr Colour kScale[] = {rgb(0x2B1150), rgb(0x3B3F8C), rgb(0x2F6F9F), rgb(0x2A9A8C),
                             rgb(0x6CBF62), rgb(0xC3D95A), rgb(0xFDF3A6)};
constexpr int kLast = static_cast<int>(std::size(kScale)) - 1;

Colour on_scale(double part) {
  const double at = std::clamp(part, 0.0, 1.0) * kLast;
  const int i = std::min(static_cast<int>(at), kLast - 1);
  return mixed(kScale[i], kScale[i + 1], static_cast<float>(at - i));
}

Colour zero_colour(const Theme& theme) { return mixed(theme.panel, theme.faint, 0.5f); }

}  // namespace

std::span<const double> sample_of(const TraceEvent& event) {
  const event::Any& what = event.what;
  if (const auto* write = std::get_if<event::Write>(&what)) return write->values;
  if (const auto* send = std::get_if<event::Send>(&what)) return send->hop.values;
  if (const auto* receive = std::get_if<event::Receive>(&what)) return receive->hop.values;
  if (const auto* move = std::get_if<event::Move>(&what)) return move->hop.values;
  if (const auto* library = std::get_if<event::Library>(&what)) return library->values;
  return {};
}

double root_mean_square(std::span<const double> values) {
  if (values.empty()) return 0;
  // By the largest: its square may be too large for a double.
  double largest = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) return value;
    largest = std::max(largest, std::abs(value));
  }
  if (largest == 0) return 0;
  double sum = 0;
  for (const double value : values) sum += value / largest * (value / largest);
  return largest * std::sqrt(sum / static_cast<double>(values.size()));
}

Colour heat_colour(double size, const Theme& theme) {
  if (!std::isfinite(size)) return theme.warning;
  if (size <= 0) return zero_colour(theme);
  return on_scale(std::log(size / kHeatLeast) / std::log(kHeatMost / kHeatLeast));
}

std::optional<Colour> heat_of(const replay::Run& run, const replay::Cell& cell,
                              const Theme& theme) {
  if (cell.content.kind == replay::Kind::nothing || cell.event >= run.size()) return std::nullopt;
  const std::span<const double> values = sample_of(run.event(cell.event));
  if (values.empty()) return std::nullopt;
  return heat_colour(root_mean_square(values), theme);
}

ValuesTraced::ValuesTraced(const Session& session) {
  for (int r = 0; r < session.size(); ++r) {
    const replay::Run& run = session.run(r);
    bool found = false;
    for (replay::EventIndex e = 0; e < run.size() && !found; ++e) {
      found = !sample_of(run.event(e)).empty();
    }
    runs.push_back(found);
    any = any || found;
  }
}

Colour untraced_ink(const Theme& theme) { return with_alpha(theme.muted, 0.5f); }

void draw_untraced(Canvas& canvas, Rect box) {
  canvas.fill(box, canvas.theme().panel);
  canvas.pattern(box, Pattern::rising, untraced_ink(canvas.theme()));
}

void draw_heat_legend(Context& context, Rect area) {
  Canvas& canvas = context.canvas;
  const Theme& theme = canvas.theme();
  const TextStyle words{theme.muted, Font::small};
  const auto swatch = [&](std::string_view text, Colour colour) {
    const float width = 14 + 5 + canvas.width_of(text, Font::small);
    if (area.width() < width) return;
    Rect box = area.cut_left(width);
    const float y = box.center().y;
    const Rect chip = Rect::of_size(box.x0, y - 6, 14, 12);
    canvas.fill(chip, colour);
    canvas.outline(chip, theme.faint);
    box.x0 += 19;
    canvas.label(box, text, words);
    area.cut_left(12);
  };
  // "size 0.000001 [scale] 10,000", then the two that are not on it.
  const std::string_view least = "1e-6", most = "1e4";
  const float ends = canvas.width_of(least, Font::small) + canvas.width_of(most, Font::small) + 14;
  const float bar = std::clamp(area.width() - ends - 150, 60.0f, 180.0f);
  if (area.width() < ends + bar) return;
  canvas.label(area.cut_left(canvas.width_of(least, Font::small) + 1), least, words);
  area.cut_left(6);
  Rect scale = area.cut_left(bar);
  scale = Rect{scale.x0, scale.center().y - 6, scale.x1, scale.center().y + 6};
  const int n = static_cast<int>(bar);
  for (int i = 0; i < n; ++i) {
    canvas.fill(scale.column(i, n), on_scale((i + 0.5) / n));
  }
  area.cut_left(6);
  canvas.label(area.cut_left(canvas.width_of(most, Font::small) + 1), most, words);
  area.cut_left(14);
  swatch("zero", zero_colour(theme));
  swatch("not finite", theme.warning);
}

}  // namespace zero::view
