// What is shown: the runs, the moment, and what the viewer chose. Knows nothing of drawing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <vector>

#include "visualizer/replay/alignment.h"
#include "visualizer/replay/collectives.h"
#include "visualizer/replay/player.h"
#include "visualizer/replay/run.h"
#include "visualizer/view/story_pace.h"
#include "visualizer/view/story_steps.h"
#include "visualizer/view/target.h"

namespace zero::view {

enum class View : std::uint8_t { stages, collective, memory };  // what has the main area
enum class Colouring : std::uint8_t {
  category,  // what it is for
  storage,   // who keeps it: the owner's colour
  compute,   // who runs it: the rank's own colour
  values     // a heat map of the values, where they were traced
};

class Session {
 public:
  // Requires at least one run.
  explicit Session(std::vector<std::shared_ptr<const replay::Run>> runs);

  // ---- the runs, by their place on the command line ----
  int size() const { return static_cast<int>(shown_.size()); }
  const replay::Run& run(int r) const { return shown(r).player->run(); }
  const replay::World& world(int r) const { return shown(r).player->world(); }
  const std::string& name(int r) const { return shown(r).name; }  // short and distinct: "zero1"
  const std::vector<replay::Collective>& collectives(int r) const { return shown(r).collectives; }
  int world_size() const;  // the largest of them
  // Those that any of the runs has a trace of, from the lowest on: what views have columns for.
  const std::vector<int>& ranks() const { return ranks_; }
  int rank_of(int r) const;  // `rank`, or, where the run has no trace of it, one before or after it
  void choose_rank(int wanted);  // that one, or one before or after it
  void next_rank(int by);        // round in ranks()
  // A newer one of the same directory: it has grown. The moment stays, or stays at the end.
  void replace(int r, std::shared_ptr<const replay::Run> run);
  // All of them in the other order; the moment stays.
  void reorder(replay::Order order);

  // ---- the moment: one clock for all runs ----
  const replay::Alignment& alignment() const { return *alignment_; }
  double clock() const { return clock_; }
  double length() const { return alignment_->length(); }
  void seek(double clock);
  void seek_position(int r, std::size_t position);
  // Goes there once the frame that is being drawn is drawn: views hold on to the present world.
  void seek_after_frame(double clock) { wanted_ = clock; }
  void end_frame();
  // A run's own time, in the units of Run::time; between two events it goes from the one's time to
  // the other's.
  double time(int r) const;
  // Part of its way that a message under way has gone: 0 to 1.
  double progress(int r, const replay::Transfer& transfer) const;
  // The collective to show: under way, else the last one of this step, else the next one, else the
  // last of all; null: the run has none.
  const replay::Collective* collective(int r) const;
  // The chapter that the focused run is in; -1 before the first.
  int chapter() const { return chapter(focus); }
  // A run's: the last one that all ranks have begun, or the first.
  int chapter(int r) const;
  // What happens in a chapter of a run, and why: one sentence.
  const std::string& sentence(int r, std::size_t chapter);

  // ---- from step to step; a step begins when all ranks have begun it ----
  const std::vector<StepBegin>& steps() const { return steps_; }
  void next_event();  // of the focused run
  void previous_event();
  void next_step();
  void previous_step();  // to the beginning of this one, or, near there, of the one before
  // To the next step of this number in this iteration; after the last one, to the first.
  void go_to_step(int number);

  // ---- what the viewer chose ----
  View view = View::stages;
  Colouring colouring = Colouring::category;
  int focus = 0;      // the run that the keys and the collective view are about
  int rank = 0;       // the rank that the memory view is about: one of ranks()
  bool ring = false;  // the collective view: on a ring, or in a row
  Target hovered, selected;
  bool help = false;
  int scrolled = 0;         // lines that what is selected has been scrolled by
  Target scrolled_of;       // what they are of: for another selection they do not count
  int scrolled_above = -1;  // lines above what is to stay in its place; -1: not known
  bool dark = false;        // the theme; whoever makes the canvas sees to it
  bool quit = false;        // the viewer wants to leave
  bool scrubbing = false;   // the pointer holds the playhead

  // ---- playback ----
  bool playing = false;
  double speed = 1;
  bool loop = false;      // over the collective shown, again and again
  bool live = false;      // more of a run may come: playing goes on at the end, and waits there
  bool silent = false;    // nothing has come for some seconds
  bool followed = false;  // it was live, or is
  replay::Order order() const { return run(0).order(); }
  // How quickly each moment passes.
  const Pace& pace() const { return *pace_; }
  // Goes on by `seconds` of the viewer's time at the pace, times `speed`. Stops at the end.
  void advance(double seconds);
  void play_or_pause();  // at the end: from the beginning
  void toggle_loop();

  // T(*this), made when first asked for and kept until a run changes: what a view derives from
  // whole runs, so that a frame costs nothing for each event.
  template <class T>
  const T& derived() const {
    std::shared_ptr<void>& made = derived_[std::type_index(typeid(T))];
    if (!made) made = std::make_shared<T>(*this);
    return *static_cast<const T*>(made.get());
  }

 private:
  struct Shown {
    std::unique_ptr<replay::Player> player;
    std::string name;
    std::vector<replay::Collective> collectives;
    std::vector<std::string> sentences;  // by chapter; none: not asked for yet
  };
  const Shown& shown(int r) const { return shown_[static_cast<std::size_t>(r)]; }
  void align();
  const replay::Collective* looped() const;  // null: none, or the moment is not in it
  bool advance_loop(double seconds);

  std::vector<Shown> shown_;
  std::unique_ptr<replay::Alignment> alignment_;
  std::vector<StepBegin> steps_;
  std::vector<int> ranks_;
  std::unique_ptr<Pace> pace_;
  double clock_ = 0;
  std::optional<double> wanted_;  // by a view, at the end of the frame
  mutable std::map<std::type_index, std::shared_ptr<void>> derived_;
  std::size_t looped_ = 0;  // the collective of the focused run that is looped over
  double rested_ = 0;       // seconds at its end
};

}  // namespace zero::view
