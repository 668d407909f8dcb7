// The window by GLFW and OpenGL: opens runs, plays, and obeys pointer and keys until it is closed.
#include <GLFW/glfw3.h>
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "visualizer/replay/say.h"
#include "visualizer/view/frame.h"
#include "visualizer/window/opening.h"
#include "visualizer/window/screen.h"
#include "visualizer/window/window.h"

namespace zero {
namespace {

using view::Canvas;
using view::Rect;
using view::Session;
using view::Theme;

constexpr double kSlowestFrame = 0.1;  // of playback: after a stall it does not jump
constexpr double kLook = 0.1;          // between looks at files that are read
constexpr double kIdle = 0.5;          // between frames when nothing happens
constexpr int kSettle = 3;             // frames after something happened: ImGui needs a few

std::string title_of(const Session& session) {
  std::string names;
  for (int r = 0; r < session.size(); ++r) names += (r > 0 ? ", " : "") + session.name(r);
  return names + " – ZeRO Steps";
}

void draw_opening(Canvas& canvas, const Opening& opening, bool follow, Rect area) {
  const Theme& theme = canvas.theme();
  canvas.fill(area, theme.background);
  const std::string what = fmt::format(
      "{} {}", follow && opening.progress() >= 1 ? "Waiting for the first events of" : "Opening",
      opening.waiting_for());
  const Rect middle = Rect::of_size(20, area.center().y - 30, area.width() - 40, 30);
  canvas.label(middle, what, {0, view::Font::title, view::Align::center});
  const float width = std::min(420.0f, area.width() - 40);
  Rect bar = Rect::of_size(area.center().x - width / 2, middle.y1 + 10, width, 6);
  canvas.fill(bar, theme.panel, 3);
  bar.x1 = bar.x0 + width * static_cast<float>(opening.progress());
  canvas.fill(bar, theme.accent, 3);
}

// What is wrong, in one line along the bottom: the newest of it.
void draw_messages(Canvas& canvas, const std::vector<std::string>& messages, Rect line) {
  const Theme& theme = canvas.theme();
  canvas.fill(line, theme.panel);
  std::string text = messages.back();
  if (messages.size() > 1) {
    text += fmt::format("   (and {} more on the terminal)", messages.size() - 1);
  }
  canvas.label(line.inset(14, 0), text, {theme.warning, view::Font::small});
}

class Window {
 public:
  Window(const WindowOptions& options, Screen& screen)
      : options_(options),
        screen_(screen),
        opening_(options.directories, options.order, options.follow) {}

  int show() {
    double before = glfwGetTime();
    int settle = kSettle;
    while (!screen_.closed()) {
      const bool moving = session_ && session_->playing;
      const double pause = moving || settle > 0 ? 0 : opening_.finished() ? kIdle : kLook;
      const double asleep = glfwGetTime();
      screen_.wait(pause);
      const double now = glfwGetTime();
      settle = pause > 0 && now - asleep < pause * 0.95 ? kSettle : std::max(0, settle - 1);
      if (look()) settle = kSettle;
      if (opening_.failed()) return 1;
      // What plays on from a rest begins with one frame, however long the rest was.
      frame(moving ? std::clamp(now - before, 0.0, kSlowestFrame) : 1.0 / 60);
      before = now;
    }
    return 0;
  }

 private:
  // At the files; true when something is new.
  bool look() {
    bool changed = false;
    if (!session_) {
      session_ = opening_.take_session();
      changed = session_ != nullptr;
      if (changed) begin();
    } else {
      changed = opening_.update(*session_);
    }
    for (const std::string& message : opening_.take_messages()) {
      say(fmt::format("visualizer: {}\n", message));
      messages_.push_back(message);
    }
    return changed;
  }

  void begin() {
    session_->view = options_.view;
    session_->dark = options_.dark;
    session_->choose_rank(options_.rank.value_or(0));
    screen_.set_title(title_of(*session_));
    if (session_->live) {
      session_->seek(session_->length());
      return;
    }
    // Where there is something to see: the model states are there, the first step has not begun.
    const auto& steps = session_->steps();
    const auto first = std::find_if(steps.begin(), steps.end(), [](const view::StepBegin& step) {
      return step.iteration >= 0;
    });
    if (first != steps.end()) session_->seek(first->clock);
  }

  void frame(double seconds) {
    Rect area = screen_.begin_frame();
    const Theme theme =
        (session_ ? session_->dark : options_.dark) ? Theme::dark_() : Theme::light();
    Canvas canvas(ImGui::GetBackgroundDrawList(), theme, screen_.fonts());
    canvas.fill({area.x0, area.y0, area.x1 + 1, area.y1 + 1}, theme.background);
    if (session_) {
      for (const view::KeyPress& press : screen_.take_keys()) view::handle_key(*session_, press);
      if (session_->quit) screen_.close();
      const view::Input input = screen_.input(seconds);
      session_->advance(seconds);
      if (!messages_.empty()) draw_messages(canvas, messages_, area.cut_bottom(20));
      view::draw_frame(canvas, *session_, input, area, view::Content::window);
    } else {
      for (const view::KeyPress& press : screen_.take_keys()) {
        if (press.character == U'q' || press.character == U'Q') screen_.close();
      }
      if (!messages_.empty()) draw_messages(canvas, messages_, area.cut_bottom(20));
      draw_opening(canvas, opening_, options_.follow, area);
    }
    screen_.end_frame();
  }

  const WindowOptions& options_;
  Screen& screen_;
  Opening opening_;
  std::unique_ptr<Session> session_;
  std::vector<std::string> messages_;
};

}  // namespace

int show_window(const WindowOptions& options) {
  std::unique_ptr<Screen> screen;
  try {
    screen = std::make_unique<Screen>(options.width, options.height, "ZeRO Steps");
  } catch (const std::runtime_error& error) {
    say(fmt::format("visualizer: {}; --export FILE.png makes a picture\n", error.what()));
    return 1;
  }
  return Window(options, *screen).show();
}

}  // namespace zero
