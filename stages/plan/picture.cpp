// What fills a GPU, as an SVG of 960 x 540: what a slide has.
#include "stages/plan/picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "stages/plan/describe.h"
#include "stages/plan/states.h"
#include "stages/plan/units.h"

namespace zero {
namespace {

// The visualizer's light theme: one colour for a category, wherever it is shown.
struct Category {
  Memory memory;
  const char* name;
  const char* fill;
  const char* ink;  // of words on it
};
constexpr const char* kText = "#1A1F29";
constexpr const char* kMuted = "#596273";
constexpr const char* kWarning = "#B3261E";
constexpr const char* kAccent = "#C2185B";
constexpr const char* kFaint = "#C3C9D3";
// From the bottom to the top.
constexpr Category kCategories[] = {
    {Memory::parameters, "parameters", "#0F75B7", "#FFFFFF"},
    {Memory::gradients, "gradients", "#D86004", kText},
    {Memory::optimizer_states, "optimizer states", "#019971", kText},
    {Memory::temporary, "temporary buffers", "#B4699F", kText},
    {Memory::communication, "communication", "#53B7EC", kText},
    {Memory::workspace, "workspace", "#A0A2A5", kText},
    {Memory::activations, "activations", "#EDBC29", kText}};

// Pixels.
constexpr double kLeft = 90, kRight = 730, kTop = 130, kBottom = 440;
constexpr double kLegend = 760;

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  }
  return result;
}

std::string words(double x, double y, int size, const char* fill, const char* anchor,
                  const std::string& text, bool bold = false) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\" "
      "stroke=\"none\"{}>{}</text>"
      "\n",
      x, y, size, fill, anchor, bold ? " font-weight=\"600\"" : "", escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, const char* stroke, double width,
                 bool dashed = false) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
      "stroke-width=\"{}\"{}/>\n",
      x1, y1, x2, y2, stroke, width, dashed ? " stroke-dasharray=\"8 5\"" : "");
}

// The bytes at the top of the scale: room for the highest bar, unless the memory's line would sink
// to the bottom.
double top_of_scale(const Picture& picture) {
  std::int64_t most = picture.memory;
  for (const Picture::Bar& bar : picture.bars) {
    std::int64_t sum = 0;
    for (const std::int64_t part : bar.parts) sum += part;
    most = std::max({most, sum, bar.total});
  }
  const double memory = static_cast<double>(picture.memory);
  const double times = static_cast<double>(most) / memory;
  return memory * (times > 5 ? 3 : std::max(times, 1.1));
}

double height_of(std::int64_t bytes, double scale) {
  return static_cast<double>(bytes) / scale * (kBottom - kTop);
}

// Zigzag across the top of a bar that goes on.
std::string torn_edge(double x, double width) {
  std::string points;
  constexpr int kTeeth = 8;
  for (int i = 0; i <= kTeeth; ++i)
    points += fmt::format("{:.1f},{:.1f} ", x + width * i / kTeeth, kTop + (i % 2 ? 14 : 6));
  return fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"#FFFFFF\" stroke-width=\"5\"/>\n", points);
}

// `top` becomes the bar's upper end.
std::string draw_bar(const Picture::Bar& bar, double x, double width, double scale, double& top) {
  std::string text;
  top = kBottom;
  bool cut = false;
  for (const Category& category : kCategories) {
    const std::int64_t bytes = bar.parts[static_cast<std::size_t>(category.memory)];
    const double end = top - height_of(bytes, scale);
    const double y = std::max(kTop, end);
    const double height = top - y;
    cut = cut || end < kTop - 0.5;
    if (height > 0.05) {
      text += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\" fill=\"{}\" "
          "stroke=\"none\">"
          "<title>{}: {}</title></rect>\n",
          x, y, width, height > 3 ? height - 1 : height, category.fill, category.name,
          decimal_bytes(bytes));
    }
    if (height >= 20)
      text += words(x + width / 2, y + height / 2 + 5, 14, category.ink, "middle",
                    decimal_bytes(bytes));
    top = y;
  }
  return cut ? text + torn_edge(x, width) : text;
}

// Above and below a bar from `x` on.
std::string name_bar(const Picture::Bar& bar, double x, double width, double top,
                     std::int64_t memory) {
  const double middle = x + width / 2;
  const bool fits = bar.total <= memory;
  // Over the memory's line, where they meet.
  std::string text = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"90\" height=\"20\" fill=\"#FFFFFF\" "
      "stroke=\"none\"/>\n",
      middle - 45, top - 26);
  text += words(middle, top - 10, 16, kText, "middle", decimal_bytes(bar.total), true);
  text += words(middle, kBottom + 26, 18, kText, "middle", bar.name, true);
  return text + words(middle, kBottom + 47, 15, fits ? kMuted : kWarning, "middle",
                      fits ? "fits" : "does not fit");
}

// Of what can be seen in some bar; where the name of the memory's line, at `memory_line`, is not.
std::string draw_legend(const Picture& picture, double scale, double memory_line) {
  std::string text;
  const bool line_above = memory_line < (kTop + kBottom) / 2;
  double y = line_above ? (kTop + kBottom) / 2 + 10 : kTop - 20;
  // In the order in which they are stacked, seen from the top.
  for (auto category = std::rbegin(kCategories); category != std::rend(kCategories); ++category) {
    bool used = false;
    for (const Picture::Bar& bar : picture.bars)
      used = used || height_of(bar.parts[static_cast<std::size_t>(category->memory)], scale) >= 0.5;
    if (!used) continue;
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"16\" height=\"16\" fill=\"{}\" "
        "stroke=\"none\"/>\n",
        kLegend, y, category->fill);
    text += words(kLegend + 26, y + 13, 16, kText, "start", category->name);
    y += 30;
  }
  return text;
}

}  // namespace

Picture picture_of(const PlanOptions& options, const Plan& plan) {
  Picture picture;
  const std::string name =
      options.model.empty()
          ? parameters_text(plan.num_parameters) + " parameters"
          : fmt::format("{} ({} parameters)", options.model, parameters_text(plan.num_parameters));
  picture.title =
      fmt::format("{} on {}, {}", name, gpus_text(options.gpu_count()), options.gpu().name);
  picture.subtitle = fmt::format(
      "bytes on each GPU: {} of {} tokens, {}, {} bytes of optimizer states a parameter",
      sequences_text(options.batch), options.understood.model.context,
      to_string(options.understood.dtype), options.optimizer_bytes);
  picture.note =
      "Each part at its own peak; the number above: the peak of all together. "
      "1 GB = 10^9 bytes.";
  picture.memory_name = options.gpu().name;
  picture.memory = options.gpu().memory;
  for (const StagePlan& stage : plan.stages) {
    const SimulatedRun& run = stage.run;
    Picture::Bar bar;
    bar.name = name_of(*stage.stage);
    bar.total = run.total;
    const auto set = [&](Memory category, std::int64_t bytes) {
      bar.parts[static_cast<std::size_t>(category)] = bytes;
    };
    set(Memory::parameters, run.parameters);
    set(Memory::gradients, run.gradients);
    set(Memory::optimizer_states, run.optimizer_states);
    set(Memory::activations, run.activations);
    set(Memory::temporary, run.temporary);
    set(Memory::communication, run.communication);
    set(Memory::workspace, run.workspace);
    picture.bars.push_back(bar);
  }
  return picture;
}

Picture picture_of_states(const PlanOptions& options) {
  Picture picture;
  const std::int64_t parameters = planned_parameters(options).front();
  picture.title = fmt::format("{} parameters on {}: model states", parameters_text(parameters),
                              gpus_text(options.gpu_count()));
  picture.subtitle = fmt::format("bytes on each GPU, {}, {} bytes of optimizer states a parameter",
                                 to_string(options.understood.dtype), options.optimizer_bytes);
  picture.note =
      "By the ZeRO paper's formulas; activations and buffers come on top. "
      "1 GB = 10^9 bytes.";
  picture.memory_name = options.gpu().name;
  picture.memory = options.gpu().memory;
  for (const std::string& stage : options.stages) {
    const PlannedStage& planned = *find_planned_stage(stage);
    const ClosedFormBytes bytes = evaluate(planned.form, parameters, options.gpu_count(),
                                           options.understood.dtype, options.optimizer_bytes);
    Picture::Bar bar;
    bar.name = name_of(planned);
    bar.total = bytes.model_states;
    bar.parts[static_cast<std::size_t>(Memory::parameters)] = bytes.parameters;
    bar.parts[static_cast<std::size_t>(Memory::gradients)] = bytes.gradients;
    bar.parts[static_cast<std::size_t>(Memory::optimizer_states)] = bytes.optimizer_states;
    picture.bars.push_back(bar);
  }
  return picture;
}

std::string svg(const Picture& picture) {
  std::string text =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 540\" width=\"960\" "
      "height=\"540\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n"
      "<rect width=\"960\" height=\"540\" fill=\"#FFFFFF\"/>\n";
  text += words(40, 52, 26, kText, "start", picture.title, true);
  text += words(40, 82, 16, kMuted, "start", picture.subtitle);
  const double scale = top_of_scale(picture);
  const double slot = (kRight - kLeft) / static_cast<double>(picture.bars.size());
  const double width = std::min(110.0, slot * 0.7);
  text += line(kLeft - 20, kBottom, kRight, kBottom, kFaint, 1.5);
  std::vector<double> tops(picture.bars.size());
  const auto left = [&](std::size_t i) {
    return kLeft + slot * (static_cast<double>(i) + 0.5) - width / 2;
  };
  std::string bars;
  for (std::size_t i = 0; i < picture.bars.size(); ++i)
    bars += draw_bar(picture.bars[i], left(i), width, scale, tops[i]);
  // Behind the bars, whose numbers it would strike through.
  const double y = kBottom - height_of(picture.memory, scale);
  text += line(kLeft - 20, y, kRight + 14, y, kAccent, 2, true) + bars;
  for (std::size_t i = 0; i < picture.bars.size(); ++i)
    text += name_bar(picture.bars[i], left(i), width, tops[i], picture.memory);
  text += words(kRight + 20, y + 5, 16, kAccent, "start",
                fmt::format("{}: {}", picture.memory_name, decimal_bytes(picture.memory)), true);
  text += draw_legend(picture, scale, y);
  text += words(40, 522, 14, kMuted, "start", picture.note);
  return text + "</svg>\n";
}

}  // namespace zero
