// Pointer and keys, through ImGui's input as a window gives it, and what becomes of the session.
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "catch.h"
#include "tests/replay_runs.h"
#include "tests/support/stage.h"
#include "visualizer/export/headless.h"
#include "visualizer/view/story_controls.h"
#include "visualizer/view/story_input.h"
#include "visualizer/view/story_keys.h"

namespace zero::view {
namespace {

using replay::Order;
using replay::Run;

// A viewer before a window: each action is followed by frames as the window draws them.
class Viewer {
 public:
  explicit Viewer(std::vector<std::shared_ptr<const Run>> runs, int width = 1280, int height = 720)
      : session(std::move(runs)), headless_(width, height) {
    frame();
  }

  // The keys that the window saw before a frame.
  void type(const std::string& text) {
    for (const char c : text) {
      handle_key(session, {c == ' ' ? Key::space : Key::character, static_cast<char32_t>(c)});
      frame();
    }
  }
  void press(Key key, bool shift = false) {
    handle_key(session, {key, 0, shift});
    frame();
  }
  void move(Point to) {
    headless_.make_current();
    ImGui::GetIO().MousePos = {to.x, to.y};
    frame();
  }
  void hold(bool down) {
    headless_.make_current();
    ImGui::GetIO().MouseDown[0] = down;
    frame();
  }
  void click(Point at) {
    move(at);
    hold(true);
    hold(false);
  }
  void click(Control control) { click(box_of(control).center()); }
  void wait(double seconds) {
    session.advance(seconds);
    frame();
  }

  Rect box_of(Control control) const {
    for (const Mark& mark : marks) {
      if (mark.target.kind == Target::Kind::control &&
          mark.target.event == static_cast<std::size_t>(control)) {
        return mark.box;
      }
    }
    throw std::runtime_error("this control is not shown");
  }
  bool shows(const std::string& text) const {
    for (const Label& label : labels) {
      if (label.text.find(text) != std::string::npos) return true;
    }
    return false;
  }

  void frame() {
    headless_.make_current();
    ImGuiIO& io = ImGui::GetIO();
    const Rect area = headless_.area();
    io.DisplaySize = {area.width(), area.height()};
    io.DeltaTime = 1.0f / 60;
    ImGui::NewFrame();
    Canvas canvas(ImGui::GetBackgroundDrawList(), headless_.theme(), headless_.fonts());
    draw_frame(canvas, session, read_input(1.0 / 60), area, Content::window);
    ImGui::Render();
    marks = canvas.marks();
    labels = canvas.labels();
  }

  Session session;
  std::vector<Mark> marks;
  std::vector<Label> labels;

 private:
  Headless headless_;
};

struct TwoRuns {
  TwoRuns() {
    for (const std::string stage : {"zero1", "zero2"}) {
      Work work;
      work.ranks = 3;
      work.batch = 6;
      work.iterations = 2;
      work.more = {"--trace", folder.path() + "/" + stage, "--trace-iterations", "0"};
      run_stage(stage, work);
      runs.push_back(Run::open(folder.path() + "/" + stage));
    }
  }
  TemporaryFolder folder;
  std::vector<std::shared_ptr<const Run>> runs;
};

TEST_CASE("keys do what the help says") {
  const TwoRuns two;
  Viewer viewer(two.runs);
  Session& session = viewer.session;

  viewer.type(" ");
  CHECK(session.playing);
  viewer.type(" ");
  CHECK_FALSE(session.playing);

  viewer.type("3");
  const auto at = std::find_if(session.steps().begin(), session.steps().end(),
                               [&](const StepBegin& s) { return s.clock == session.clock(); });
  REQUIRE(at != session.steps().end());
  CHECK(at->number == 3);
  CHECK(at->iteration == 0);
  const std::size_t position = session.world(0).position;
  viewer.press(Key::right);
  CHECK(session.world(0).position == position + 1);
  viewer.press(Key::left);
  CHECK(session.world(0).position == position);

  const double here = session.clock();
  viewer.press(Key::right, true);
  const double next = session.clock();
  CHECK(next > here);
  for (const Key key : {Key::up, Key::page_up}) {
    viewer.press(key);
    CHECK(session.clock() < next);
    viewer.press(key == Key::up ? Key::down : Key::page_down);
    CHECK(session.clock() == next);
  }
  viewer.press(Key::left, true);
  CHECK(session.clock() < next);

  viewer.press(Key::end);
  CHECK(session.clock() == session.length());
  viewer.press(Key::home);
  CHECK(session.clock() == 0);

  viewer.type("c");
  CHECK(session.view == View::collective);
  viewer.type("m");
  CHECK(session.view == View::memory);
  viewer.type("S");
  CHECK(session.view == View::stages);

  viewer.press(Key::tab);
  CHECK(session.focus == 1);
  viewer.press(Key::tab);
  CHECK(session.focus == 0);
  viewer.type("]]");
  CHECK(session.rank == 2);
  viewer.type("r");
  CHECK(session.rank == 0);
  viewer.type("[");
  CHECK(session.rank == 2);

  viewer.type("o");
  CHECK(session.colouring == Colouring::storage);
  viewer.type("ooo");
  CHECK(session.colouring == Colouring::category);
  viewer.type("g");
  CHECK(session.ring);
  viewer.type("+");
  CHECK(session.speed == 2);
  viewer.type("++++");
  CHECK(session.speed == 16);
  viewer.type("----------");
  CHECK(session.speed == 0.1);
  viewer.type("d");
  CHECK(session.dark);
  viewer.type("l");
  CHECK(session.loop);
  viewer.type("t");
  CHECK(session.order() == Order::measured);
  viewer.type("t");
  CHECK(session.order() == Order::logical);

  session.selected.kind = Target::Kind::rank;
  session.selected.run = session.selected.rank = 0;
  viewer.press(Key::escape);
  CHECK_FALSE(session.selected);
  CHECK_FALSE(session.quit);
  viewer.type("q");
  CHECK(session.quit);
}

TEST_CASE("the help shows every key, and a press or escape closes it and does nothing else") {
  const TwoRuns two;
  Viewer viewer(two.runs);
  CHECK_FALSE(viewer.shows("quit"));
  viewer.type("?");
  CHECK(viewer.session.help);
  for (const KeyHelp& key : key_help()) {
    INFO(key.keys);
    CHECK(viewer.shows(std::string(key.keys)));
    CHECK(viewer.shows(std::string(key.what)));
  }
  viewer.press(Key::escape);
  CHECK_FALSE(viewer.session.help);
  const Rect play = viewer.box_of(Control::play);
  viewer.type("h");
  CHECK(viewer.session.help);
  viewer.click(play.center());
  CHECK_FALSE(viewer.session.help);
  CHECK_FALSE(viewer.session.playing);
  viewer.click(Control::help);
  CHECK(viewer.session.help);
}

TEST_CASE("controls do what they show") {
  const TwoRuns two;
  Viewer viewer(two.runs);
  Session& session = viewer.session;
  viewer.click(Control::play);
  CHECK(session.playing);
  viewer.click(Control::play);
  CHECK_FALSE(session.playing);
  viewer.click(Control::next_step);
  CHECK(session.clock() == session.steps()[0].clock);
  viewer.click(Control::next_step);
  CHECK(session.clock() == session.steps()[1].clock);
  viewer.click(Control::previous_step);
  CHECK(session.clock() == session.steps()[0].clock);
  viewer.click(Control::quicker);
  CHECK(session.speed == 2);
  CHECK(viewer.shows("2×"));
  viewer.click(Control::slower);
  CHECK(session.speed == 1);
  viewer.click(Control::loop);
  CHECK(session.loop);
  viewer.click(Control::measured);
  CHECK(session.order() == Order::measured);
  viewer.click(Control::logical);
  CHECK(session.order() == Order::logical);
  viewer.click(Control::collective);
  CHECK(session.view == View::collective);
  viewer.click(Control::memory);
  CHECK(session.view == View::memory);
  viewer.click(Control::stages);
  CHECK(session.view == View::stages);
  viewer.click(Control::colouring);
  CHECK(session.colouring == Colouring::storage);
  CHECK_FALSE(session.selected);  // a control is nothing to inspect
  viewer.move(viewer.box_of(Control::loop).center());
  CHECK(viewer.shows("again and again"));
}

TEST_CASE("the playhead goes where the pointer drags it, also outside of the timeline") {
  const TwoRuns two;
  Viewer viewer(two.runs);
  Session& session = viewer.session;
  const Rect tracks = viewer.box_of(Control::scrubber);
  const auto clock_at = [&](float x) {
    return static_cast<double>((x - tracks.x0) / tracks.width()) * session.length();
  };
  const float y = tracks.center().y;
  viewer.move({tracks.x0 + 300, y});
  viewer.hold(true);
  CHECK(session.scrubbing);
  CHECK(std::abs(session.clock() - clock_at(tracks.x0 + 300)) < 1e-3);
  session.playing = true;
  viewer.wait(1);  // playback does not pull at it
  CHECK(std::abs(session.clock() - clock_at(tracks.x0 + 300)) < 1e-3);
  viewer.move({tracks.x0 + 500, y - 300});
  CHECK(std::abs(session.clock() - clock_at(tracks.x0 + 500)) < 1e-3);
  viewer.move({tracks.x1 + 400, y});
  CHECK(session.clock() == session.length());
  viewer.move({0, 0});
  CHECK(session.clock() == 0);
  viewer.move({tracks.x0 + 700, y + 40});
  viewer.hold(false);
  CHECK_FALSE(session.scrubbing);
  const double left = session.clock();
  viewer.move({tracks.x0 + 10, y});
  CHECK(session.clock() == left);
  CHECK_FALSE(session.selected);
  // What begins elsewhere is no drag of the playhead.
  session.playing = false;
  viewer.move({tracks.x0 + 10, 20});
  viewer.hold(true);
  viewer.move({tracks.x0 + 10, y});
  CHECK(session.clock() == left);
  viewer.hold(false);
}

TEST_CASE("each block of the timeline stands where its step is on the clock") {
  const TwoRuns two;
  for (const int width : {800, 1280, 1920}) {
    Viewer viewer(two.runs, width, width * 9 / 16);
    const Session& session = viewer.session;
    const Rect tracks = viewer.box_of(Control::scrubber);
    int blocks = 0;
    std::map<int, float> ends;  // by run: where its last block ended
    for (const Mark& mark : viewer.marks) {
      if (mark.target.kind != Target::Kind::chapter || !tracks.contains(mark.box, 1)) continue;
      ++blocks;
      const Run& run = session.run(mark.target.run);
      const auto r = static_cast<std::size_t>(mark.target.run);
      // The middle of the block is a moment of its chapter.
      const double clock = static_cast<double>((mark.box.center().x - tracks.x0) / tracks.width()) *
                           session.length();
      const std::size_t position = session.alignment().position(r, clock);
      const auto chapter = run.chapter_at(mark.target.event);
      REQUIRE(chapter);
      const double slack = 2 * session.length() / static_cast<double>(tracks.width());
      INFO("width " << width << ", run " << r << ", chapter " << *chapter);
      CHECK(session.alignment().clock(r, run.chapters()[*chapter].begin) - clock <= slack + 4);
      CHECK(clock - session.alignment().clock(r, run.chapters()[*chapter].end) <= slack);
      CHECK(position <= run.size());
      CHECK(mark.box.x0 >= ends[mark.target.run] - 0.01f);  // none overlap
      ends[mark.target.run] = mark.box.x1;
    }
    CHECK(blocks > 20);
  }
}

TEST_CASE("words of caption, timeline and help lie within their boxes, at every size") {
  const TwoRuns two;
  for (const auto& [width, height] :
       std::vector<std::pair<int, int>>{{800, 500}, {800, 600}, {1280, 720}, {1920, 1080}}) {
    Viewer viewer(two.runs, width, height);
    viewer.type("?");
    const Rect window{0, 0, static_cast<float>(width), static_cast<float>(height)};
    for (const double part : {0.0, 0.3, 0.62, 1.0}) {
      viewer.session.seek(viewer.session.length() * part);
      viewer.frame();
      for (const Label& label : viewer.labels) {
        INFO(width << " x " << height << ": " << label.text);
        CHECK(label.box.contains(label.ink, 1));
        CHECK(window.contains(label.ink, 1));
      }
    }
  }
}

}  // namespace
}  // namespace zero::view
