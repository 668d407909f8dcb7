// The sizes of everything from the area, and the ways of messages between them.
#include "visualizer/view/collective_layout.h"

#include <algorithm>
#include <cmath>

namespace zero::view {
namespace {

constexpr float kPi = 3.14159265f;

float distance(Point a, Point b) { return std::hypot(b.x - a.x, b.y - a.y); }
Point between(Point a, Point b, float part) {
  return {a.x + (b.x - a.x) * part, a.y + (b.y - a.y) * part};
}
Rect around(Point center, float width, float height) {
  return Rect::of_size(center.x - width / 2, center.y - height / 2, width, height);
}

// What is left free at the sides of a circle, for messages between boxes that are above each other.
float side_of(Rect area) { return std::min(54.0f, area.width() * 0.13f); }

}  // namespace

// ---- Way ----------------------------------------------------------------------------------------

float Way::length() const {
  float sum = 0;
  for (int i = 1; i < count; ++i) {
    sum += distance(points[static_cast<std::size_t>(i - 1)], points[static_cast<std::size_t>(i)]);
  }
  return sum;
}

Point Way::at(float part) const {
  if (part >= 1) return points[static_cast<std::size_t>(count - 1)];
  float left = std::max(part, 0.0f) * length();
  for (int i = 1; i < count; ++i) {
    const Point a = points[static_cast<std::size_t>(i - 1)],
                b = points[static_cast<std::size_t>(i)];
    const float step = distance(a, b);
    if (left <= step) return between(a, b, step > 0 ? left / step : 0);
    left -= step;
  }
  return points[static_cast<std::size_t>(count - 1)];
}

Rect Way::box(float part) const {
  // It has its own size once it has left the source, and until it enters the destination: those
  // are the first and the last of its points.
  const float all = length();
  float w = width, h = height;
  const auto grow = [&](const Rect& end, Point a, Point b, float gone) {
    const float way = all > 0 ? distance(a, b) / all : 0;
    const float by = way > 0 ? std::clamp(1 - gone / way, 0.0f, 1.0f) : (gone <= 0 ? 1.0f : 0.0f);
    w += (end.width() - w) * by;
    h += (end.height() - h) * by;
  };
  const auto n = static_cast<std::size_t>(count);
  grow(from, points[0], points[1], std::max(part, 0.0f));
  grow(to, points[n - 2], points[n - 1], 1 - std::min(part, 1.0f));
  return around(at(part), w, h);
}

// ---- CollectiveLayout ---------------------------------------------------------------------------

CollectiveLayout::CollectiveLayout(const CollectiveShape& shape, Rect area, float heading_height,
                                   float labels)
    : shape_(shape), area_(area) {
  if (shape_.ring) place_circle(heading_height);
  else place_row(heading_height, labels);
}

void CollectiveLayout::place_row(float heading_height, float labels) {
  const auto K = static_cast<float>(shape_.ranks), R = static_cast<float>(shape_.rows);
  labels_ = labels;
  heading_height_ = heading_height;

  // Across: a channel at each end, as wide as the gaps between the ranks, where there are any.
  const float share = shape_.ranks > 5 ? 0.62f : 0.5f;  // a gap's, of a cell
  const float gaps = K - 1 + (shape_.wraps ? 2.0f : 0.0f);
  const float room = area_.width() - labels;
  cell_width_ = std::min(200.0f, room / (K + gaps * share));
  const float gap = gaps > 0 ? std::min((room - K * cell_width_) / gaps, 0.8f * cell_width_) : 0;
  const float used = labels + K * cell_width_ + gaps * gap;
  const float channel = shape_.wraps ? gap : 0;
  const float left = area_.x0 + (area_.width() - used) / 2 + labels + channel;

  // Down: the headings, the rows, the lane below them.
  float height = area_.height() - heading_height;
  const float wrap = shape_.wraps ? std::clamp(height * 0.09f, 8.0f, 32.0f) : 0;
  height -= wrap;
  row_height_ = std::min(height / R, std::clamp(height * 0.75f / R, 120.0f, 260.0f));
  const float between_rows = std::clamp(row_height_ * 0.16f, 1.0f, 14.0f);
  const float body = row_height_ - between_rows;
  if (shape_.lanes > 0) slot_height_ = body * std::min(0.6f, 0.3f + 0.08f * shape_.lanes);
  else slot_height_ = shape_.sums ? body * 0.42f : 0;
  slot_gap_ = slot_height_ > 0 ? std::clamp(body * 0.05f, 1.0f, 4.0f) : 0;
  cell_height_ = body - slot_height_ - slot_gap_;

  token_width_ = gap > 0 ? std::clamp(gap * 0.86f, 6.0f, cell_width_) : cell_width_;
  const float lane = shape_.lanes > 0 ? slot_height_ / static_cast<float>(shape_.lanes) - 1
                     : shape_.sums    ? slot_height_
                                      : cell_height_;
  token_height_ = std::clamp(lane, 3.0f, 26.0f);
  if (shape_.wraps) token_height_ = std::min(token_height_, wrap - 4);

  const float all = heading_height + R * row_height_ + wrap;
  const float top = area_.y0 + (area_.height() - all) / 2 + heading_height;
  for (int r = 0; r < shape_.ranks; ++r) {
    corners_.push_back({left + static_cast<float>(r) * (cell_width_ + gap), top});
  }
  label_end_ = left - channel - 10;
  left_ = left - gap / 2;
  right_ = left + K * cell_width_ + (K - 1) * gap + gap / 2;
  below_ = top + R * row_height_ - between_rows / 2 + wrap / 2;
}

// The centre of a rank's box: rank 0 on top, or, of two, on the left; then clockwise. The circle is
// bent towards the corners where that makes room.
Point CollectiveLayout::on_circle(int rank, float width, float height) const {
  const float angle = 2 * kPi * static_cast<float>(rank) / static_cast<float>(shape_.ranks) -
                      (shape_.ranks == 2 ? kPi : kPi / 2);
  const auto bent = [&](float v) {
    if (std::abs(v) < 1e-4f) return 0.0f;
    return bend_ == 1 ? v : std::copysign(std::pow(std::abs(v), bend_), v);
  };
  const Point c = area_.center();
  const float side = side_of(area_);
  return {c.x + bent(std::cos(angle)) * ((area_.width() - width) / 2 - side),
          c.y + bent(std::sin(angle)) * (area_.height() - height) / 2};
}

void CollectiveLayout::place_circle(float heading_height) {
  const auto R = static_cast<float>(shape_.rows);
  heading_height_ = heading_height;
  // Boxes as high as they can be without touching the next one, and rather wide.
  float height = 0, width = 0, bend = 1, best = 0;
  std::vector<Rect> boxes(static_cast<std::size_t>(shape_.ranks));
  for (const float tried : {1.0f, 0.8f, 0.6f, 0.45f}) {
    bend_ = tried;
    for (int i = 23; i >= 2; --i) {
      const float w = area_.width() * 0.02f * static_cast<float>(i);
      for (int j = 23; j >= 2; --j) {
        const float h = area_.height() * 0.02f * static_cast<float>(j);
        const float score = (h - heading_height) * std::sqrt(w);
        if (w > 260 || w > 2 * h || h > heading_height + std::max(R * 84, 110.0f) || score <= best)
          continue;
        bool apart = true;
        for (int r = 0; r < shape_.ranks && apart; ++r) {
          Rect& box = boxes[static_cast<std::size_t>(r)] =
              around(on_circle(r, w, h), w + 24, h + 6);
          for (int other = 0; other < r && apart; ++other) {
            apart = !box.overlaps(boxes[static_cast<std::size_t>(other)]);
          }
        }
        if (!apart) continue;
        width = w;
        height = h;
        bend = tried;
        best = score;
      }
    }
  }
  bend_ = bend;
  for (int r = 0; r < shape_.ranks; ++r) corners_.push_back(on_circle(r, width, height));
  cell_width_ = width;
  row_height_ = (height - heading_height) / R;
  const float between_rows = std::clamp(row_height_ * 0.14f, 1.0f, 6.0f);
  const float body = row_height_ - between_rows;
  slot_height_ = shape_.sums ? body * 0.4f : 0;
  slot_gap_ = shape_.sums ? std::clamp(body * 0.05f, 1.0f, 3.0f) : 0;
  cell_height_ = body - slot_height_ - slot_gap_;
  token_width_ = std::min(width * 0.7f, side_of(area_) - 4);
  token_height_ = std::clamp(shape_.sums ? slot_height_ : cell_height_, 4.0f, 20.0f);
  for (Point& corner : corners_) {
    corner = {corner.x - width / 2, corner.y - height / 2 + heading_height};
  }
}

float CollectiveLayout::cell_top(int rank, int row) const {
  return corners_[static_cast<std::size_t>(rank)].y + static_cast<float>(row) * row_height_;
}

Rect CollectiveLayout::heading(int rank) const {
  const Point corner = corners_[static_cast<std::size_t>(rank)];
  return {corner.x, corner.y - heading_height_, corner.x + cell_width_, corner.y};
}

Rect CollectiveLayout::column(int rank) const {
  const Point corner = corners_[static_cast<std::size_t>(rank)];
  const float rows = static_cast<float>(shape_.rows - 1) * row_height_;
  return Rect::of_size(corner.x, corner.y, cell_width_,
                       rows + cell_height_ + slot_gap_ + slot_height_);
}

Rect CollectiveLayout::cell(int rank, int row) const {
  return Rect::of_size(corners_[static_cast<std::size_t>(rank)].x, cell_top(rank, row), cell_width_,
                       cell_height_);
}

Rect CollectiveLayout::slot(int rank, int row) const {
  return Rect::of_size(corners_[static_cast<std::size_t>(rank)].x,
                       cell_top(rank, row) + cell_height_ + slot_gap_, cell_width_, slot_height_);
}

Rect CollectiveLayout::row_label(int row) const {
  if (labels_ <= 0) return {};
  const float height = std::min(std::max(cell_height_, 18.0f), row_height_ - 1);
  const float top = cell(0, row).center().y - height / 2;
  return {label_end_ - labels_ + 10, top, label_end_, top + height};
}

Rect CollectiveLayout::lane(int source, int destination, int row) const {
  const auto at = static_cast<std::size_t>(row);
  const int lanes = at < shape_.row_lanes.size() ? shape_.row_lanes[at] : shape_.lanes;
  const int far = std::min(std::abs(destination - source), std::max(lanes, 1)) - 1;
  const float each = slot_height_ / static_cast<float>(std::max(lanes, 1));
  const float top = cell_top(0, row) + cell_height_ + slot_gap_ + static_cast<float>(far) * each;
  const Rect left = column(std::min(source, destination)),
             right = column(std::max(source, destination));
  return {left.x1, top, right.x0, top + each};
}

std::vector<Rect> CollectiveLayout::queue(int source, int destination, int row,
                                          std::span<const float> parts) const {
  const Rect lane = this->lane(source, destination, row);
  const float gap = column(1).x0 - column(0).x1;
  const float head = std::min(9.0f, gap * 0.15f);  // of the arrow, which stays visible
  const float most = static_cast<float>(
      std::max<std::size_t>(parts.size(), static_cast<std::size_t>(std::max(1, shape_.queue))));
  const float between = std::min(3.0f, (gap - head) / most * 0.3f);
  const float width = std::min((gap - head) / most - between, token_width_);
  const float height = std::min(std::max(lane.height() - 1, lane.height() * 0.7f), 26.0f);
  const float whole = lane.width() - head - width;
  std::vector<Rect> boxes;
  float ahead = whole + width + between;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // Room is left for those behind.
    const float behind = static_cast<float>(parts.size() - 1 - i) * (width + between);
    const float begin = std::max(std::min(parts[i] * whole, ahead - width - between), behind);
    ahead = begin;
    const float x = destination > source ? lane.x0 + begin : lane.x1 - begin - width;
    boxes.push_back(Rect::of_size(x, lane.center().y - height / 2, width, height));
  }
  return boxes;
}

Way CollectiveLayout::way(int source, int destination, int row, Rect from, Rect to) const {
  Way way;
  way.from = from;
  way.to = to;
  const Rect first = cell(source, row), last = cell(destination, row);
  way.whole_from = first.contains(from, 0.5f) ? first : from;
  way.whole_to = last.contains(to, 0.5f) ? last : to;
  way.width = token_width_;
  way.height = token_height_;
  const Rect a = column(source), b = column(destination);
  way.add(from.center());
  if (shape_.ring) {
    // Out of the side that faces the other, or, when they are above each other, the outer one.
    const float apart = b.center().x - a.center().x;
    const bool above = std::abs(apart) < cell_width_ + 10;
    const bool right =
        above ? (a.center().x + b.center().x) / 2 >= area_.center().x - 1 : apart > 0;
    const float gap = std::max(a.x0, b.x0) - std::min(a.x1, b.x1);
    const float out =
        above ? token_width_ / 2 + 3 : std::clamp(gap / 2, 2.0f, token_width_ / 2 + 3);
    if (above) {
      const float x = right ? std::max(a.x1, b.x1) + out : std::min(a.x0, b.x0) - out;
      way.add({x, from.center().y});
      way.add({x, to.center().y});
    } else {
      way.add({right ? a.x1 + out : a.x0 - out, from.center().y});
      way.add({right ? b.x0 - out : b.x1 + out, to.center().y});
    }
  } else if (shape_.lanes > 0) {
    const float y = lane(source, destination, row).center().y;
    way.add({from.center().x, y});
    way.add({to.center().x, y});
  } else if (shape_.wraps && source == shape_.ranks - 1 && destination == 0) {
    way.add({right_, from.center().y});
    way.add({right_, below_});
    way.add({left_, below_});
    way.add({left_, to.center().y});
  } else {
    // Straight through the gap, as it is, at the height of where it goes.
    const bool right = b.x0 > a.x0;
    way.straight = true;
    way.width = to.width();
    way.height = std::min(to.height(), std::max(from.height(), token_height_));
    way.add({right ? a.x1 : a.x0, to.center().y});
    way.add({right ? b.x0 : b.x1, to.center().y});
  }
  way.add(to.center());
  return way;
}

}  // namespace zero::view
