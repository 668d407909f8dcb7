// Every key and what it does: the table that the help shows, and the function that obeys it.
#include <algorithm>

#include "visualizer/view/story_keys.h"

namespace zero::view {

namespace {

constexpr double kSlowest = 0.1, kQuickest = 16;

// In steps that read well: 0.1, 0.25, 0.5, 1, 2, 4, 8, 16.
constexpr double kSpeeds[] = {kSlowest, 0.25, 0.5, 1, 2, 4, 8, kQuickest};

bool handle_character(Session& session, char32_t c) {
  switch (c) {
    case U' ':
      session.play_or_pause();
      return true;
    case U's':
      session.view = View::stages;
      return true;
    case U'c':
      session.view = View::collective;
      return true;
    case U'm':
      session.view = View::memory;
      return true;
    case U'g':
      session.ring = !session.ring;
      return true;
    case U'o':
      next_colouring(session);
      return true;
    case U'l':
      session.toggle_loop();
      return true;
    case U'+':
    case U'=':
      change_speed(session, 1);
      return true;
    case U'-':
      change_speed(session, -1);
      return true;
    case U't':
      toggle_order(session);
      return true;
    case U'd':
      session.dark = !session.dark;
      return true;
    case U'r':
    case U']':
      session.next_rank(1);
      return true;
    case U'[':
      session.next_rank(-1);
      return true;
    case U'?':
    case U'h':
      session.help = !session.help;
      return true;
    case U'q':
      session.quit = true;
      return true;
    default:
      break;
  }
  if (c >= U'0' && c <= U'9') {
    session.go_to_step(static_cast<int>(c - U'0'));
    return true;
  }
  return false;
}

}  // namespace

const std::vector<KeyHelp>& key_help() {
  static const std::vector<KeyHelp> help = {
      {"Space", "play or pause", "Time"},
      {"Left  Right", "previous, next event", ""},
      {"Up  Down", "previous, next step; also with shift and left, right", ""},
      {"1 – 6", "go to this step of the iteration", ""},
      {"Home  End", "the beginning, the end", ""},
      {"+  −", "quicker, slower", ""},
      {"L", "loop over the collective shown", ""},
      {"T", "logical or measured (simulated) time", ""},
      {"S", "stages: what each GPU holds", "Views"},
      {"C", "collective: what moves between GPUs", ""},
      {"M", "memory over time", ""},
      {"O", "colours: category, storage, compute, values", ""},
      {"G", "GPUs of a collective on a ring or in a row", ""},
      {"Tab", "next run", ""},
      {"[  ]", "previous, next GPU of the memory view", ""},
      {"D", "light or dark", ""},
      {"Esc", "close this, or clear the selection", "Window"},
      {"?", "this help", ""},
      {"Q", "quit", ""},
  };
  return help;
}

void change_speed(Session& session, int by) {
  const auto at = by > 0 ? std::upper_bound(std::begin(kSpeeds), std::end(kSpeeds), session.speed)
                         : std::lower_bound(std::begin(kSpeeds), std::end(kSpeeds), session.speed);
  if (by > 0) session.speed = at == std::end(kSpeeds) ? kQuickest : *at;
  else session.speed = at == std::begin(kSpeeds) ? kSlowest : *std::prev(at);
}

void next_colouring(Session& session) {
  session.colouring = static_cast<Colouring>((static_cast<int>(session.colouring) + 1) % 4);
}

void toggle_order(Session& session) {
  session.reorder(session.order() == replay::Order::logical ? replay::Order::measured
                                                            : replay::Order::logical);
}

void turn(int& value, int by, int n) { value = ((value + by) % n + n) % n; }

bool handle_key(Session& session, const KeyPress& press) {
  if (press.control) return false;
  switch (press.key) {
    case Key::space:
      session.play_or_pause();
      return true;
    case Key::left:
      press.shift ? session.previous_step() : session.previous_event();
      return true;
    case Key::right:
      press.shift ? session.next_step() : session.next_event();
      return true;
    case Key::up:
    case Key::page_up:
      session.previous_step();
      return true;
    case Key::down:
    case Key::page_down:
      session.next_step();
      return true;
    case Key::home:
      session.seek(0);
      return true;
    case Key::end:
      session.seek(session.length());
      return true;
    case Key::tab:
      turn(session.focus, press.shift ? -1 : 1, session.size());
      return true;
    case Key::escape:
      if (!session.help) session.selected = {};
      session.help = false;
      return true;
    case Key::enter:
      return false;
    case Key::character: {
      // Capital letters do the same: caps lock is no reason to do nothing.
      const char32_t c = press.character;
      return handle_character(session, c >= U'A' && c <= U'Z' ? c - U'A' + U'a' : c);
    }
  }
  return false;
}

}  // namespace zero::view
