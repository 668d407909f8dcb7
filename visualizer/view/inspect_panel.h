// A panel of lines, one below the other, that can be scrolled: what the inspect view writes on.
#pragma once

#include <string_view>

#include "visualizer/view/views.h"

namespace zero::view {

// Of Target::control: a place of the inspect view where a click does nothing; a line that goes to
// an event, which is `begin`.
inline constexpr std::size_t kInspectNothing = 1100, kInspectEvent = 1101;

// Lines are drawn whole or not at all, so that nothing reaches out of the panel. Those that are not
// in sight cost next to nothing.
class Panel {
 public:
  static constexpr float kLine = 20;

  // `of`: for another one it is scrolled to the beginning.
  Panel(Context& context, Rect area, const Target& of);

  // Stays while the rest is scrolled. `chip` stands before it, if it has a colour.
  void title(std::string_view text, std::string_view below, const Style& chip);

  void heading(std::string_view text);
  void pair(std::string_view key, std::string_view value);  // nothing without a value
  void text(std::string_view text, bool warning = false);   // one line
  void paragraph(std::string_view text);                    // as many lines as it needs
  void ranks(std::string_view key, const replay::RankSet& ranks, int world_size);
  // A name, and right of it up to two numbers.
  void numbers(std::string_view name, std::string_view first, std::string_view second,
               const Style* chip = nullptr, const Target& target = {});
  // Something that happened: `number` stands before it, `line` at the right. True when clicked.
  bool happened(std::string_view number, std::string_view text, std::string_view line, bool to_come,
                bool marked, const Target& target);
  void gap();
  // What comes now stays where it is, should lines before it come or go: one can click on one line
  // of a list after the other, though each click changes what is above the list.
  void hold();

  // Passes over `n` lines of which none is to be drawn, and says how many lines, from the next on,
  // are in sight: long lists need not go through all of theirs.
  struct Sight {
    std::size_t first = 0, last = 0;  // of n lines: draw [first, last)
  };
  Sight sight(std::size_t n) const;
  void skip(std::size_t lines) { y_ += kLine * static_cast<float>(lines); }

  // After all lines: the bar that shows how much there is, and scrolling.
  void end();

  Canvas& canvas() { return canvas_; }

 private:
  // The next line's place, if it is in sight.
  bool next(Rect& line);
  void chip(Rect box, const Style& style);

  Context& context_;
  Canvas& canvas_;
  Rect body_;
  int scrolled_ = 0;  // lines
  float y_ = 0;       // of the next line, from the first one
};

}  // namespace zero::view
