// What a rank holds of a collective's rows: the buffers that the collective itself touches.
#include "visualizer/view/collective_story.h"

#include <algorithm>

namespace zero::view {

using namespace replay;

namespace {

bool is_contribution(const Content& content) {
  return content.kind == Kind::local_gradient || content.kind == Kind::partial_sum;
}

const Buffer* holder(const RankState& state, std::int64_t number, Range range) {
  const Buffer* buffer = state.buffer(number);
  if (!buffer || !buffer->info->allocate->range) return nullptr;
  const Range flat = *buffer->info->allocate->range;
  const bool inside = !range.empty() && flat.contains(range) &&
                      buffer->cells().holds(range.begin - flat.begin, range.size());
  return inside ? buffer : nullptr;
}

void append(std::vector<Piece>& pieces, std::size_t from, Piece piece) {
  if (pieces.size() > from) {
    Piece& last = pieces.back();
    if (last.buffer == piece.buffer && last.end == piece.begin && last.old == piece.old &&
        last.spent == piece.spent && last.content == piece.content) {
      last.end = piece.end;
      last.range.end = piece.range.end;
      return;
    }
  }
  pieces.push_back(std::move(piece));
}

}  // namespace

std::size_t CollectiveStory::moment(const World& world, int rank) const {
  const auto& ended = ended_[static_cast<std::size_t>(rank)];
  return ended ? std::min(ended->position, world.position) : world.position;
}

const RankState& CollectiveStory::state(const World& world, int rank) const {
  const auto& ended = ended_[static_cast<std::size_t>(rank)];
  if (ended && world.position >= ended->position) return ended->state;
  return world.ranks[static_cast<std::size_t>(rank)];
}

void CollectiveStory::held(const RankState& state, const Moment& moment, int rank, int row,
                           std::vector<Piece>& pieces) const {
  const std::size_t from = pieces.size();
  for (const Atom& atom : atoms_[static_cast<std::size_t>(row)]) {
    // What the collective has written there; else what it reads; else what it will overwrite.
    const Use* best = nullptr;
    int best_grade = -1;
    const Buffer* buffer = nullptr;
    for (const Use& use : atom.uses[static_cast<std::size_t>(rank)]) {
      const bool begun = use.first < moment.position;
      const int grade = use.born ? (begun ? 2 : 0) : 1;
      if (grade < best_grade) continue;
      if (const Buffer* found = holder(state, use.buffer, atom.range)) {
        best = &use;
        best_grade = grade;
        buffer = found;
      }
    }
    if (!best) continue;
    const std::int64_t base = buffer->info->allocate->range->begin;
    const std::int64_t begin = atom.range.begin - base, end = atom.range.end - base;
    for (std::int64_t at = begin; at < end;) {
      const Cell& cell = buffer->cells().at(at);
      at = cell.end;
      Piece piece;
      piece.begin = std::max(begin, cell.begin);
      piece.end = std::min(end, cell.end);
      piece.range = {piece.begin + base, piece.end + base};
      piece.content = cell.content;
      piece.buffer = best->buffer;
      piece.old = best_grade == 0;
      piece.spent = adds_ && best->first_read && is_past(*best->first_read, moment) &&
                    is_contribution(cell.content);
      append(pieces, from, std::move(piece));
    }
  }
}

void CollectiveStory::sums(const RankState& state, const Moment& moment, int rank,
                           std::vector<std::pair<int, Piece>>& pieces) const {
  const std::vector<Sum>& sums = sums_[static_cast<std::size_t>(rank)];
  for (const std::int64_t number : scratch_[static_cast<std::size_t>(rank)]) {
    const Buffer* buffer = state.buffer(number);
    if (!buffer) continue;
    for (const Cell& cell : buffer->cells().all()) {
      const auto sum =
          std::lower_bound(sums.begin(), sums.end(), cell.event,
                           [](const Sum& s, EventIndex event) { return s.made < event; });
      // Whatever it still has of an earlier collective is none of this one.
      if (sum == sums.end() || sum->made != cell.event || sum->buffer != number) continue;
      Piece piece;
      piece.begin = cell.begin;
      piece.end = std::min(cell.end, sum->at + sum->range.size());
      piece.range = {sum->range.begin + piece.begin - sum->at,
                     sum->range.begin + piece.end - sum->at};
      piece.content = cell.content;
      piece.buffer = number;
      piece.spent = sum->left && is_past(*sum->left, moment);
      piece.spent_by = sum->left.value_or(0);
      piece.all = sum->range;
      if (piece.begin >= piece.end) continue;
      if (!pieces.empty()) {
        Piece& last = pieces.back().second;
        if (last.buffer == number && last.end == piece.begin && last.all == piece.all &&
            last.content == piece.content) {
          last.end = piece.end;
          last.range.end = piece.range.end;
          continue;
        }
      }
      pieces.emplace_back(sum->row, std::move(piece));
    }
  }
}

bool CollectiveStory::is_past(EventIndex e, const Moment& moment) const {
  const event::Hop* hop = moment.step ? run_.hop(e) : nullptr;
  return hop ? hop->step <= *moment.step : e < moment.position;
}

int CollectiveStory::column_of(int rank) const {
  const auto found = std::lower_bound(columns().begin(), columns().end(), rank);
  if (found == columns().end() || *found != rank) return -1;
  return static_cast<int>(found - columns().begin());
}

std::optional<Travel> CollectiveStory::travel(EventIndex e) const {
  if (e >= run_.size()) return std::nullopt;
  const auto* send = std::get_if<event::Send>(&run_.event(e).what);
  if (!send || send->hop.collective != number_) return std::nullopt;
  if (chunk_ && send->hop.chunk != *chunk_) return std::nullopt;
  Travel travel;
  travel.source = run_.rank_of(e);
  travel.destination = send->hop.destination;
  travel.row = row_of(send->hop.range);
  if (travel.row < 0 || column_of(travel.destination) < 0 || travel.destination == travel.source) {
    return std::nullopt;
  }
  travel.range = send->hop.range.intersect(rows_[static_cast<std::size_t>(travel.row)].range);
  travel.adds = send->hop.effect == Effect::add;
  travel.chunk = send->hop.chunk;
  travel.step = send->hop.step;
  travel.bytes = send->bytes;
  travel.from_slot = !is_flat(travel.source, send->from.buffer);
  travel.to_slot = travel.adds && has_sums_;
  if (const auto partner = run_.partner(e)) {
    const auto& receive = std::get<event::Receive>(run_.event(*partner).what);
    travel.to_slot = !is_flat(travel.destination, receive.into.buffer);
  }
  return travel;
}

int CollectiveStory::row_of(Range range) const {
  const auto after = std::upper_bound(
      rows_.begin(), rows_.end(), range.begin,
      [](std::int64_t position, const Row& row) { return position < row.range.begin; });
  if (after == rows_.begin() || range.empty()) return -1;
  const auto row = std::prev(after);
  return range.begin < row->range.end ? static_cast<int>(row - rows_.begin()) : -1;
}

bool CollectiveStory::is_flat(int rank, std::int64_t buffer) const {
  const BufferInfo* info = run_.buffer(rank, buffer);
  return info && info->allocate->range.has_value();
}

}  // namespace zero::view
