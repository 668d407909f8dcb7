// The caption: the step as its program calls it, what happens in it, and who waits.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "visualizer/view/story_waiting.h"
#include "visualizer/view/views.h"

namespace zero::view {

using namespace replay;

namespace {

// A word in a box at the right end of `row`, which loses its room.
void chip(Canvas& canvas, Rect& row, std::string_view text, Colour fill, Colour ink) {
  const float width = canvas.width_of(text, Font::strong) + 18;
  if (width > row.width() / 3) return;
  const Rect box = row.cut_right(width);
  canvas.fill(box.inset(0, std::max(0.0f, (box.height() - 22) / 2)), fill, 5);
  canvas.label(box, text, {ink, Font::strong, Align::center});
  row.cut_right(10);
}

// What the runs other than the focused one do at the moment, where that is something else.
std::string others_text(const Session& session) {
  const auto& phases = session.alignment().phases();
  if (session.size() < 2 || phases.empty()) return "";
  const Alignment::Phase& phase = phases[session.alignment().phase_at(session.clock())];
  struct Said {
    std::string names, what;
  };
  std::vector<Said> all;
  const auto say = [&](int r, const std::string& what) {
    for (Said& said : all) {
      if (said.what == what) return void(said.names += ", " + session.name(r));
    }
    all.push_back({session.name(r), what});
  };
  const auto caption_of = [&](int r) -> std::string {
    const int chapter = session.chapter(r);
    return chapter < 0 ? "" : session.run(r).chapters()[static_cast<std::size_t>(chapter)].caption;
  };
  const std::string here = caption_of(session.focus);
  for (int r = 0; r < session.size(); ++r) {
    if (r == session.focus) continue;
    if (!phase.has[static_cast<std::size_t>(r)]) say(r, "");
    else if (const std::string caption = caption_of(r); caption != here) say(r, caption);
  }
  std::string text;
  for (const Said& said : all) {
    if (!text.empty()) text += "   ";
    const bool one = said.names.find(',') == std::string::npos;
    text += said.what.empty() ? fmt::format("{} {} here", said.names, one ? "waits" : "wait")
                              : fmt::format("{}: {}", said.names, said.what);
  }
  return text;
}

}  // namespace

void draw_caption(Context& context, Rect area) {
  Canvas& canvas = context.canvas;
  Session& session = context.session;
  const Theme& theme = canvas.theme();
  const Run& run = session.run(session.focus);
  const auto& phases = session.alignment().phases();
  Rect title = area.cut_top(26);
  area.cut_top(2);

  const int index = session.chapter();
  if (index < 0) {
    canvas.label(title, "Before the first step", {0, Font::title});
    return;
  }
  const Chapter& chapter = run.chapters()[static_cast<std::size_t>(index)];
  const std::string iteration = iteration_text(session);
  if (!iteration.empty() && title.width() > 400) {
    canvas.label(title.cut_right(canvas.width_of(iteration) + 1), iteration, {theme.muted});
    title.cut_right(12);
  }
  if (!chapter.unit.empty()) chip(canvas, title, chapter.unit, theme.panel, theme.text);
  const bool waits = !phases.empty() && !phases[session.alignment().phase_at(session.clock())]
                                             .has[static_cast<std::size_t>(session.focus)];
  if (session.size() > 1) {
    const std::string name = waits ? fmt::format("{} waits after", session.name(session.focus))
                                   : session.name(session.focus);
    const float width = canvas.width_of(name, Font::strong) + 18;
    if (width < title.width() / 3) {
      const Rect box = title.cut_left(width);
      canvas.fill(box.inset(0, 2), theme.accent, 5);
      canvas.label(box, name, {theme.background, Font::strong, Align::center});
      title.cut_left(10);
    }
  }
  canvas.label(title, chapter.caption, {waits ? theme.muted : theme.text, Font::title});

  // The last line is for what is wrong, else for what other runs do.
  const std::string wrong = waiting_text(session);
  const std::string last = wrong.empty() ? others_text(session) : wrong;
  Rect line;
  if (!last.empty()) line = area.cut_bottom(canvas.line_height(Font::small) + 1);
  const float used =
      canvas.paragraph(area, session.sentence(session.focus, static_cast<std::size_t>(index)));
  if (last.empty()) return;
  const float up = std::max(0.0f, area.height() - used - 2);
  canvas.label({line.x0, line.y0 - up, line.x1, line.y1 - up}, last,
               {anything_wrong(session) ? theme.warning : theme.muted, Font::small});
}

}  // namespace zero::view
