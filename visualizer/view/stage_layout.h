// Where everything of the stage view lies: pure geometry, without anything that draws.
//
// In a panel, one rank of one run, area is bytes: x is the position in the flat parameter vector,
// and a bar is as high as an element of it has bytes. All panels of a picture have the same scale.
#pragma once

#include <vector>

#include "visualizer/view/rect.h"
#include "visualizer/view/stage_lanes.h"

namespace zero::view {

struct Panel {
  int run = 0, rank = 0;
  Rect box;
  Rect heading;             // empty: the heading of the column stands for it
  Rect work;                // words on what it is busy with; empty: no room
  Rect names;               // of the units; empty: no room
  Rect units;               // a ruler of the units, and of the part that is worked on
  Rect shards;              // a ruler of who owns what
  std::vector<Rect> lanes;  // by Lane: the whole bar, whoever holds what of it
  Rect loose;               // for buffers that stand for no positions
};

struct StageLayout {
  std::vector<Rect> columns;  // headings, as Lanes::columns(); empty where each panel has its own
  std::vector<Rect> rows;     // headings, by run; empty where there is no room
  std::vector<Panel> panels;  // run by run, rank by rank
  Rect legend;
  float per_position = 0;  // pixels
  float per_byte = 0;      // pixels of height for a byte an element
  double loose_scale = 1;  // of the areas in `loose`, against those of the bars

  bool widened = false;  // some buffers are narrower than what can be seen: they are not to scale

  const Panel& first_panel(int run) const;
};

// In pixels: what is held is drawn as wide as this at least.
inline constexpr float kLeastWidth = 4;

// 1; less where buffers without a bar would take more room than the bars, more where next to none.
double loose_scale_of(const Lanes& lanes);

StageLayout lay_out_stages(const Lanes& lanes, Rect area, float legend_height);

// The part of `bar` (a panel's whole bar or ruler) that stands for `range`, at most all of it, and
// as high as elements of `bytes` bytes are (0: as the bar).
Rect part_of(const StageLayout& layout, Rect bar, Range range, std::int64_t bytes = 0);

// The same, for what is held there: wide enough to be seen, if the bar is.
Rect held_part_of(const StageLayout& layout, Rect bar, Range range, std::int64_t bytes);

// The parts of a bar where nothing is, when `held` are the parts where something is: `held` and
// these partition the bar. Requires that `held` do not overlap and begin at the top of the bar.
std::vector<Rect> rest_of(Rect bar, std::vector<Rect> held);

// Buffers without a bar, one after the other: activations from the left, what serves the moment
// (scratch, workspace) from the right.
struct LooseBox {
  const replay::Buffer* buffer = nullptr;
  Rect box;
};
std::vector<LooseBox> lay_out_loose(const StageLayout& layout, const Lanes& lanes,
                                    const Panel& panel, const replay::RankState& state);

}  // namespace zero::view
