// Cells as stripes, messages as boxes, ways as arrows.
#include "visualizer/view/collective_paint.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace zero::view {

using namespace replay;

namespace {

constexpr std::size_t kMostStories = 4;

}  // namespace

const CollectiveStory& CollectiveStories::of(const Run& run, const Collective& collective) const {
  for (const auto& story : kept_) {
    if (story->is_of(collective)) return *story;
  }
  if (kept_.size() == kMostStories) kept_.erase(kept_.begin());
  kept_.push_back(std::make_unique<CollectiveStory>(run, collective));
  return *kept_.back();
}

CollectivePainter::CollectivePainter(Context& context, int run, const CollectiveStory& story,
                                     const CollectiveLayout& layout, const Collective& collective)
    : context_(context),
      canvas_(context.canvas),
      theme_(context.canvas.theme()),
      run_(run),
      story_(story),
      layout_(layout),
      collective_(collective) {
  find_stripes();
}

void CollectivePainter::find_stripes() {
  const int ranks = context_.session.run(run_).world_size();
  for (int r = 0; r < ranks; ++r) {
    const bool alone = ranks <= kMost || story_.column_of(r) >= 0;
    const bool goes_on = !alone && !stripes_.empty() && story_.column_of(stripes_.back().last) < 0;
    if (goes_on) stripes_.back().last = r;
    else stripes_.push_back({r, r});
  }
}

Colour CollectivePainter::colour_of(const Stripe& stripe) const {
  return stripe.first == stripe.last ? theme_.rank(stripe.first) : theme_.muted;
}

CollectiveShape CollectivePainter::shape_of(const CollectiveStory& story, bool ring) {
  const auto ranks = static_cast<int>(story.columns().size());
  CollectiveShape shape;
  shape.ranks = std::min(ranks, kMost);
  shape.rows = std::clamp(static_cast<int>(story.rows().size()), 1, kMost);
  shape.sums = story.has_sums();
  shape.lanes = story.lanes();
  shape.row_lanes = story.row_lanes();
  shape.queue = story.queue();
  shape.wraps = story.wraps();
  shape.ring = ring && ranks > 1 && ranks <= 12;
  return shape;
}

bool CollectivePainter::is_shown(const Travel& travel) const {
  const CollectiveShape& shape = layout_.shape();
  return travel.row < shape.rows && story_.column_of(travel.source) < shape.ranks &&
         story_.column_of(travel.destination) < shape.ranks;
}

bool CollectivePainter::whole(const Content& content) const {
  return !story_.adds() && content.contributors.size() == 1;
}

// A stripe for each rank, in the rank's colour where its values are in there. Of ranks that share
// one, the first speaks for all: a collective adds up all of them, or keeps them apart.
void CollectivePainter::stripes(Rect box, const Content& content, float alpha) {
  if (content.kind == Kind::nothing || content.kind == Kind::zero) return;
  if (content.kind == Kind::unknown) {
    canvas_.pattern(box, Pattern::crossed, theme_.warning);
    return;
  }
  if (whole(content)) {
    canvas_.fill(box, with_alpha(theme_.rank(content.contributors.lowest()), alpha));
    return;
  }
  const float each = box.width() / static_cast<float>(stripes_.size());
  const float gap = each >= 5 ? 1.0f : 0.0f;
  for (std::size_t i = 0; i < stripes_.size(); ++i) {
    if (!content.contributors.contains(stripes_[i].first)) continue;
    const float x = std::round(box.x0 + static_cast<float>(i) * each);
    const float end = std::round(box.x0 + static_cast<float>(i + 1) * each);
    canvas_.fill({x, box.y0, i + 1 < stripes_.size() ? end - gap : end, box.y1},
                 with_alpha(colour_of(stripes_[i]), alpha));
  }
}

// The part of a box, which stands for `all`, that stands for `range`.
Rect CollectivePainter::part_of(Rect box, Range all, Range range) const {
  const auto y = [&](std::int64_t position) {
    const double part = static_cast<double>(position - all.begin) / static_cast<double>(all.size());
    return box.y0 + box.height() * static_cast<float>(part);
  };
  return {box.x0, y(range.begin), box.x1, y(range.end)};
}

void CollectivePainter::point_at(Rect box, const Target& target) {
  canvas_.mark(box, target);
  if (target == context_.session.selected || target == context_.session.hovered) {
    canvas_.outline(box.inset(-2), theme_.accent, 2);
  }
}

void CollectivePainter::rank(const RankState& state, const Moment& moment, int rank,
                             const std::vector<EventIndex>& leaving) {
  const int column = story_.column_of(rank);
  const auto rows = static_cast<int>(
      std::min<std::size_t>(story_.rows().size(), static_cast<std::size_t>(layout_.shape().rows)));
  for (int row = 0; row < rows; ++row) {
    const Rect cell = layout_.cell(column, row);
    const Range all = story_.rows()[static_cast<std::size_t>(row)].range;
    pieces_.clear();
    story_.held(state, moment, rank, row, pieces_);
    if (pieces_.empty()) {
      canvas_.dashed(cell, theme_.faint);
      continue;
    }
    canvas_.fill(cell, empty());
    if (story_.rows()[static_cast<std::size_t>(row)].last >= 0 && joined(cell, all, rank)) continue;
    for (const Piece& piece : pieces_) {
      const Rect part = part_of(cell, all, piece.range);
      stripes(part, piece.content, piece.old ? kOldPart : piece.spent ? kSpentPart : 1.0f);
      const bool finished = !piece.old && (!story_.adds() || piece.content.kind == Kind::reduced);
      if (finished) canvas_.outline(part, theme_.text, part.height() > 12 ? 2.0f : 1.0f);
    }
    for (const Piece& piece : pieces_) {
      point_at(part_of(cell, all, piece.range),
               {Target::Kind::cell, run_, rank, piece.buffer, piece.begin, piece.end, 0});
    }
  }
  if (!layout_.shape().sums) return;
  sums_.clear();
  story_.sums(state, moment, rank, sums_);
  for (const auto& [row, sum] : sums_) {
    if (row >= rows) continue;
    const Rect slot = layout_.slot(column, row);
    const Rect part = part_of(slot, sum.all, sum.range);
    if (sum.spent) {
      if (std::find(leaving.begin(), leaving.end(), sum.spent_by) == leaving.end()) continue;
      stripes(part, sum.content, kSpentPart);
      canvas_.dashed(slot, theme_.faint);
    } else {
      canvas_.fill(part, empty());
      stripes(part, sum.content, 1);
      canvas_.outline(slot, theme_.muted, 1);
    }
    point_at(part, {Target::Kind::cell, run_, rank, sum.buffer, sum.begin, sum.end, 0});
  }
}

// A row of many owners' shards, with a copy of each of them: too thin for a box around each. False
// for anything else.
bool CollectivePainter::joined(Rect cell, Range all, int rank) {
  for (const Piece& piece : pieces_) {
    if (piece.old || !whole(piece.content)) return false;
  }
  canvas_.fill(cell, with_alpha(theme_.muted, 1));
  canvas_.outline(cell, theme_.text, 2);
  for (const Piece& piece : pieces_) {
    point_at(part_of(cell, all, piece.range),
             {Target::Kind::cell, run_, rank, piece.buffer, piece.begin, piece.end, 0});
  }
  return true;
}

Way CollectivePainter::way(const Travel& travel) const {
  const int source = story_.column_of(travel.source);
  const int destination = story_.column_of(travel.destination);
  const auto end = [&](int column, bool slot) {
    if (slot && layout_.shape().sums) return layout_.slot(column, travel.row);
    return part_of(layout_.cell(column, travel.row),
                   story_.rows()[static_cast<std::size_t>(travel.row)].range, travel.range);
  };
  return layout_.way(source, destination, travel.row, end(source, travel.from_slot),
                     end(destination, travel.to_slot));
}

Colour CollectivePainter::empty() const {
  return mixed(theme_.panel, theme_.faint, theme_.dark ? 0.5f : 0.35f);
}

// As much of a way as is outside of the cells, with an arrow where it ends.
void CollectivePainter::line(const Way& way, Colour colour, float thickness) {
  const auto on_edge = [](const Rect& box, Point towards) {
    return Point{std::clamp(towards.x, box.x0, box.x1), std::clamp(towards.y, box.y0, box.y1)};
  };
  std::array<Point, 8> points = way.points;
  const auto count = static_cast<std::size_t>(way.count);
  if (way.straight) {
    // From edge to edge, with a step within the gap where the heights differ.
    const bool right = way.to.x0 > way.from.x0;
    const Point from{right ? way.from.x1 : way.from.x0, way.from.center().y};
    const Point to{right ? way.to.x0 : way.to.x1, way.to.center().y};
    if (from.y == to.y) return canvas_.arrow(from, to, colour, thickness);
    const float x = from.x + (to.x - from.x) * 0.35f;
    canvas_.line(from, {x, from.y}, colour, thickness);
    canvas_.line({x, from.y}, {x, to.y}, colour, thickness);
    return canvas_.arrow({x, to.y}, to, colour, thickness);
  }
  points[0] = on_edge(way.whole_from, points[1]);
  // A lane that passes through the slot ends where it comes to it.
  if (way.to.contains(points[count - 2])) {
    const bool right = points[count - 3].x < points[count - 2].x;
    points[count - 2].x = right ? way.to.x0 : way.to.x1;
    for (std::size_t i = 1; i + 2 < count; ++i) {
      canvas_.line(points[i - 1], points[i], colour, thickness);
    }
    return canvas_.arrow(points[count - 3], points[count - 2], colour, thickness);
  }
  points[count - 1] = on_edge(way.whole_to, points[count - 2]);
  for (std::size_t i = 1; i + 1 < count; ++i) {
    canvas_.line(points[i - 1], points[i], colour, thickness);
  }
  canvas_.arrow(points[count - 2], points[count - 1], colour, thickness);
}

// Plus: the receiver adds its own; equals: it takes the copy.
void CollectivePainter::sign(Point center, float radius, bool adds) {
  canvas_.circle(center, radius, theme_.text);
  const float arm = radius * 0.55f, thick = std::max(1.5f, radius * 0.25f);
  const float apart = adds ? 0 : radius * 0.28f;
  canvas_.line({center.x - arm, center.y - apart}, {center.x + arm, center.y - apart},
               theme_.background, thick);
  if (adds) {
    canvas_.line({center.x, center.y - arm}, {center.x, center.y + arm}, theme_.background, thick);
  } else {
    canvas_.line({center.x - arm, center.y + apart}, {center.x + arm, center.y + apart},
                 theme_.background, thick);
  }
}

void CollectivePainter::message(const Transfer& transfer, const Travel& travel, Rect box) {
  canvas_.fill(box, empty());
  const std::vector<Cell>& cells = *transfer.content;
  const auto size =
      static_cast<float>(std::max<std::int64_t>(1, cells.empty() ? 1 : cells.back().end));
  for (const Cell& cell : cells) {
    const Rect piece{box.x0, box.y0 + box.height() * static_cast<float>(cell.begin) / size, box.x1,
                     box.y0 + box.height() * static_cast<float>(cell.end) / size};
    // One rank's own values fill a message that is too narrow for stripes.
    const RankSet& who = cell.content.contributors;
    if (box.width() < 3.5f * static_cast<float>(stripes_.size()) && who.size() == 1) {
      canvas_.fill(piece, theme_.rank(who.lowest()));
    } else {
      stripes(piece, cell.content, 1);
    }
  }
  canvas_.outline(box, theme_.text, 1);
  point_at(box, {Target::Kind::transfer, run_, travel.source, -1, 0, 0, transfer.send});
}

void CollectivePainter::messages(const std::vector<std::pair<const Transfer*, Travel>>& flying) {
  constexpr float kSmallest = 11;  // of a message's height, that has a sign
  const auto progress = [&](const Transfer& transfer) {
    return static_cast<float>(context_.session.progress(run_, transfer));
  };
  if (layout_.shape().lanes == 0 || layout_.shape().ring) {
    for (const auto& [transfer, travel] : flying) {
      if (!is_shown(travel)) continue;
      const Way way = this->way(travel);
      const float part = progress(*transfer);
      const Rect box = way.box(part);
      message(*transfer, travel, box);
      if (box.height() < kSmallest) continue;
      // At its head.
      const Point ahead = way.at(std::min(1.0f, part + 0.02f)),
                  behind = way.at(std::max(0.0f, part - 0.02f));
      const float radius = std::min({8.0f, box.height() * 0.36f, box.width() * 0.3f});
      sign({ahead.x >= behind.x ? box.x1 : box.x0, box.y0}, radius, travel.adds);
    }
    return;
  }
  // By lane, the foremost first.
  std::vector<std::pair<const Transfer*, Travel>> all;
  for (const auto& one : flying) {
    if (is_shown(one.second)) all.push_back(one);
  }
  const auto lane = [](const Travel& t) { return std::tuple(t.row, t.source, t.destination); };
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    return std::tuple(lane(a.second), a.first->send) < std::tuple(lane(b.second), b.first->send);
  });
  std::vector<float> parts;
  for (std::size_t i = 0, next = 0; i < all.size(); i = next) {
    const Travel& travel = all[i].second;
    parts.clear();
    while (next < all.size() && lane(all[next].second) == lane(travel)) {
      parts.push_back(progress(*all[next++].first));
    }
    const std::vector<Rect> boxes = layout_.queue(
        story_.column_of(travel.source), story_.column_of(travel.destination), travel.row, parts);
    for (std::size_t k = i; k < next; ++k) {
      message(*all[k].first, all[k].second, boxes[k - i]);
    }
    // The sign of all of them, behind the last, where that is not in the rank that it comes from.
    const Rect last = boxes.back(), source = layout_.column(story_.column_of(travel.source));
    if (last.height() < kSmallest) continue;
    const float radius = std::min(8.0f, last.height() * 0.36f);
    const bool right = travel.destination > travel.source;
    const float x = right ? last.x0 - radius - 2 : last.x1 + radius + 2;
    if (right ? x - radius < source.x1 : x + radius > source.x0) continue;
    sign({x, last.center().y}, radius, travel.adds);
  }
}

void CollectivePainter::arrow(EventIndex send, Colour colour, float thickness) {
  const auto travel = story_.travel(send);
  if (!travel || !is_shown(*travel)) return;
  line(way(*travel), colour, thickness);
}

}  // namespace zero::view
