// Where the ranks of a collective, their rows, and the lanes between them are: numbers only.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "visualizer/view/rect.h"

namespace zero::view {

// What has to be placed.
struct CollectiveShape {
  int ranks = 1, rows = 1;
  bool sums = false;           // each cell has a slot below it, for a sum in scratch
  int lanes = 0;               // below each row, for messages that pass other ranks; 0: none do
  std::vector<int> row_lanes;  // by row, where that is fewer
  int queue = 1;               // messages that are on one lane at a time, at most
  bool wraps = false;          // a lane around all, from the last rank to the first
  bool ring = false;           // on a circle
};

// One message's way, from box to box, which it leaves and enters at its full size.
struct Way {
  std::array<Point, 8> points{};  // centres
  int count = 0;
  Rect from, to;                // the message's ends,
  Rect whole_from, whole_to;    // and the cells or slots that these are parts of
  float width = 0, height = 0;  // on the way
  bool straight = false;        // through the gap between two neighbours: from points[1] to [2]

  void add(Point p) { points[static_cast<std::size_t>(count++)] = p; }
  float length() const;
  // The centre, and the box, after a part of the way: 0 is `from`, 1 is `to`.
  Point at(float part) const;
  Rect box(float part) const;
};

class CollectiveLayout {
 public:
  // `labels`: room for words left of the rows, 0 where there is none.
  CollectiveLayout(const CollectiveShape& shape, Rect area, float heading_height, float labels);

  const CollectiveShape& shape() const { return shape_; }
  Rect area() const { return area_; }
  bool readable() const { return cell_width_ >= 4 && cell_height_ >= (shape_.ring ? 5 : 2); }

  Rect heading(int rank) const;        // above its cells
  Rect column(int rank) const;         // its cells and slots
  Rect cell(int rank, int row) const;  //
  Rect slot(int rank, int row) const;  // requires shape.sums
  Rect row_label(int row) const;       // in a row of ranks only; empty: no room
  Rect center() const;                 // of a circle: free of everything but messages

  // From a box within the source's row to one within the destination's.
  Way way(int source, int destination, int row, Rect from, Rect to) const;
  // The messages of one lane, one behind the other between the two ranks, the foremost first; each
  // has come as far as its part says, if those before it leave the room. Requires lanes.
  std::vector<Rect> queue(int source, int destination, int row, std::span<const float> parts) const;

 private:
  void place_row(float heading_height, float labels);
  void place_circle(float heading_height);
  Rect lane(int source, int destination, int row) const;  // from rank to rank
  Point on_circle(int rank, float width, float height) const;
  float cell_top(int rank, int row) const;

  CollectiveShape shape_;
  Rect area_;
  float cell_width_ = 0, cell_height_ = 0;
  float slot_gap_ = 0, slot_height_ = 0;  // the slot, or the lanes, below a cell
  float row_height_ = 0;                  // from one cell to the next
  float heading_height_ = 0;
  float token_width_ = 0, token_height_ = 0;
  float labels_ = 0, label_end_ = 0;
  float bend_ = 1;                          // of the circle: less is towards the corners
  float left_ = 0, right_ = 0, below_ = 0;  // the lane around
  std::vector<Point> corners_;              // by rank: top left of its first cell
};

}  // namespace zero::view
