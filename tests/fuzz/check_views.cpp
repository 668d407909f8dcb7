// A viewer in a hurry.
#include "tests/fuzz/check_views.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <stdexcept>

#include "common/trace/reader.h"
#include "visualizer/replay/run.h"
#include "visualizer/view/session.h"
#include "visualizer/view/views.h"

namespace zero {
namespace {

using view::Content, view::Session;

void check_screen(const Headless& screen) {
  for (const view::Mark& mark : screen.marks()) {
    const bool there = std::isfinite(mark.box.width()) && std::isfinite(mark.box.height());
    if (!there) throw std::logic_error("a mark is nowhere");
  }
  for (const view::Label& label : screen.labels()) {
    if (screen.area().contains(label.ink, 1)) continue;
    throw std::logic_error(fmt::format("'{}' is at [{}, {}] x [{}, {}]", label.text.substr(0, 100),
                                       label.ink.x0, label.ink.x1, label.ink.y0, label.ink.y1));
  }
}

void draw(Headless& screen, Session& session, Content content, const view::Input& input = {}) {
  screen.layout(session, content, input);
  check_screen(screen);
}

// Hovers over one of the marks, presses there, and lets go elsewhere.
void click(Headless& screen, Session& session, unsigned choice) {
  if (screen.marks().empty()) return;
  const auto center = [&](std::size_t which) {
    return screen.marks()[which % screen.marks().size()].box.center();
  };
  const view::Point from = center(choice * 7919u), to = center(choice * 104729u);
  draw(screen, session, Content::window, {.mouse = from});
  draw(screen, session, Content::window, {.mouse = from, .pressed = true, .down = true});
  draw(screen, session, Content::window, {.mouse = to, .down = true, .wheel = 1});
  draw(screen, session, Content::window, {.mouse = to, .released = true, .seconds = 0.1});
}

}  // namespace

void check_views(Headless& screen, const std::string& directory, unsigned choice) {
  std::shared_ptr<const replay::Run> run;
  try {
    run = replay::Run::open(directory);
  } catch (const TraceError&) {
    return;
  }
  std::vector<std::shared_ptr<const replay::Run>> runs = {run};
  if (choice % 2 == 1) runs.push_back(run->in_order(replay::Order::measured));
  Session session(runs);
  constexpr std::array kViews = {view::View::stages, view::View::collective, view::View::memory};
  session.view = kViews[choice % kViews.size()];
  session.colouring = static_cast<view::Colouring>(choice / 2 % 4);
  session.ring = choice / 4 % 2 == 1;

  session.seek(session.length() * (choice % 11) / 10);
  draw(screen, session, choice % 5 == 0 ? Content::picture : Content::window);
  click(screen, session, choice);
  constexpr std::u32string_view kCharacters = U"?123456lrvcmtsoz+-.,[]";
  for (unsigned i = 0; i < 4; ++i) {
    const auto key = static_cast<view::Key>((choice * 31 + i * 7) % 13);
    view::handle_key(session, {key, kCharacters[(choice + i * 5) % kCharacters.size()]});
  }
  session.playing = true;
  session.advance(0.3);
  draw(screen, session, Content::window);
  click(screen, session, choice + 1);
  session.seek(session.length());
  draw(screen, session, choice % 3 == 1 ? Content::strip : Content::plain);
}

}  // namespace zero
