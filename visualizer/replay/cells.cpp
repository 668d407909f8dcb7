// Interval maps by sorted lists: a buffer has few cells, and views read them in order.
#include "visualizer/replay/cells.h"

#include <algorithm>
#include <bit>

namespace zero::replay {

// ---- RankSet ------------------------------------------------------------------------------------

void RankSet::insert(int rank) {
  const auto bit = static_cast<std::size_t>(rank);
  if (bit < 64) {
    first_ |= std::uint64_t{1} << bit;
    return;
  }
  auto more = more_ ? *more_ : std::vector<std::uint64_t>();
  more.resize(std::max(more.size(), bit / 64));  // word 0 is first_
  more[bit / 64 - 1] |= std::uint64_t{1} << (bit % 64);
  more_ = std::make_shared<const std::vector<std::uint64_t>>(std::move(more));
}

bool RankSet::contains(int rank) const {
  if (rank < 0) return false;
  const auto bit = static_cast<std::size_t>(rank);
  if (bit < 64) return (first_ >> bit & 1) != 0;
  return more_ && bit / 64 <= more_->size() && ((*more_)[bit / 64 - 1] >> (bit % 64) & 1) != 0;
}

int RankSet::size() const {
  int count = std::popcount(first_);
  if (more_) {
    for (const std::uint64_t word : *more_) count += std::popcount(word);
  }
  return count;
}

int RankSet::lowest() const {
  if (first_ != 0) return std::countr_zero(first_);
  if (!more_) return -1;
  int base = 64;
  for (const std::uint64_t word : *more_) {
    if (word != 0) return base + std::countr_zero(word);
    base += 64;
  }
  return -1;
}

bool RankSet::intersects(const RankSet& other) const {
  if ((first_ & other.first_) != 0) return true;
  if (!more_ || !other.more_) return false;
  const std::size_t common = std::min(more_->size(), other.more_->size());
  for (std::size_t i = 0; i < common; ++i) {
    if (((*more_)[i] & (*other.more_)[i]) != 0) return true;
  }
  return false;
}

RankSet& RankSet::operator|=(const RankSet& other) {
  first_ |= other.first_;
  if (!more_) {
    more_ = other.more_;
  } else if (other.more_ && other.more_ != more_) {
    auto more = *more_;
    more.resize(std::max(more.size(), other.more_->size()));
    for (std::size_t i = 0; i < other.more_->size(); ++i) more[i] |= (*other.more_)[i];
    more_ = std::make_shared<const std::vector<std::uint64_t>>(std::move(more));
  }
  return *this;
}

bool RankSet::operator==(const RankSet& other) const {
  if (first_ != other.first_) return false;
  if (more_ == other.more_) return true;
  return more_ && other.more_ && *more_ == *other.more_;
}

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::nothing:
      return "nothing";
    case Kind::initial:
      return "initial";
    case Kind::zero:
      return "zero";
    case Kind::local_gradient:
      return "local gradient";
    case Kind::partial_sum:
      return "partial sum";
    case Kind::reduced:
      return "reduced";
    case Kind::updated:
      return "updated";
    case Kind::cast:
      return "cast";
    case Kind::copied:
      return "copied";
    case Kind::gathered:
      return "gathered";
    case Kind::unknown:
      return "unknown";
  }
  return "unknown";
}

// ---- Cells --------------------------------------------------------------------------------------

Cells::Cells(std::int64_t size, std::size_t event) : size_(size) {
  if (size > 0) cells_.push_back({0, size, {}, event});
}

bool Cells::holds(std::int64_t at, std::int64_t size) const {
  return at >= 0 && size >= 0 && at <= size_ && size <= size_ - at;
}

SharedList<Cell>::Iterator Cells::cell_of(std::int64_t element) const {
  return cells_.first_not([element](const Cell& cell) { return cell.end <= element; });
}

const Cell& Cells::at(std::int64_t element) const { return *cell_of(element); }

std::optional<std::vector<Cell>> Cells::slice(std::int64_t at, std::int64_t size,
                                              std::size_t most) const {
  std::vector<Cell> pieces;
  if (size == 0) return pieces;
  const std::int64_t end = at + size;
  for (auto cell = cell_of(at); cell != cells_.end() && cell->begin < end; ++cell) {
    if (pieces.size() == most) return std::nullopt;
    pieces.push_back(*cell);
    pieces.back().begin = std::max(cell->begin, at) - at;
    pieces.back().end = std::min(cell->end, end) - at;
  }
  return pieces;
}

void Cells::paste(std::int64_t at, const std::vector<Cell>& pieces) {
  if (pieces.empty()) return;
  const std::int64_t end = at + pieces.back().end;
  const auto first = cell_of(at), last = cell_of(end - 1);
  std::vector<Cell> fresh;
  fresh.reserve(pieces.size() + 2);
  if (first->begin < at) {
    fresh.push_back(*first);
    fresh.back().end = at;
  }
  for (const Cell& piece : pieces) {
    fresh.push_back(piece);
    fresh.back().begin += at;
    fresh.back().end += at;
  }
  if (last->end > end) {
    fresh.push_back(*last);
    fresh.back().begin = end;
  }
  cells_.replace(first, std::next(last), std::move(fresh));
}

}  // namespace zero::replay
