// What is shown: the runs, the moment, and what the viewer chose. Knows nothing of drawing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "visualizer/replay/alignment.h"
#include "visualizer/replay/collectives.h"
#include "visualizer/replay/player.h"
#include "visualizer/replay/run.h"
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
  // A run's own time, in the units of Run::time; between two events it goes from the one's time to
  // the other's.
  double time(int r) const;
  // Part of its way that a message under way has gone: 0 to 1.
  double progress(int r, const replay::Transfer& transfer) const;
  // The collective to show: under way, else the last one that ended, else the next; null: none.
  const replay::Collective* collective(int r) const;
  // The chapter that the focused run is in; -1 before the first.
  int chapter() const;

  // ---- what the viewer chose ----
  View view = View::stages;
  Colouring colouring = Colouring::category;
  int focus = 0;       // the run that the keys and the collective view are about
  int rank = 0;        // the rank that the memory view is about
  bool ring = false;   // the collective view: on a ring, or in a row
  Target hovered, selected;
  bool help = false;

  // ---- playback ----
  bool playing = false;
  double speed = 1;
  bool loop = false;   // over the collective shown, again and again
  // Goes on by `seconds` of the viewer's time. Moves of messages take long enough to be followed,
  // the rest passes quickly. Stops at the end.
  void advance(double seconds);

 private:
  struct Shown {
    std::unique_ptr<replay::Player> player;
    std::string name;
    std::vector<replay::Collective> collectives;
  };
  const Shown& shown(int r) const { return shown_[static_cast<std::size_t>(r)]; }
  void align();

  std::vector<Shown> shown_;
  std::unique_ptr<replay::Alignment> alignment_;
  double clock_ = 0;
};

}  // namespace zero::view
