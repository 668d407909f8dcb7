// Joins the runs' phases into one row that has every run's in its own order.
#include "visualizer/replay/alignment.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

namespace zero::replay {
namespace {

// Iteration, step, unit: as the run's events name it, however long that is.
using Key = std::tuple<std::int64_t, int, std::string_view>;

std::string_view name_of(const std::optional<std::string>& unit) {
  return unit ? std::string_view(*unit) : std::string_view();
}

struct Piece {
  Key key;
  std::size_t begin = 0, end = 0;  // positions
};

// The phases of one run, as the rank with the most events goes through them.
std::vector<Piece> pieces_of(const Run& run) {
  int leader = 0;
  for (int r = 1; r < run.world_size(); ++r) {
    if (run.rank(r).events.size() > run.rank(leader).events.size()) leader = r;
  }
  const EventList& events = run.rank(leader).events;
  std::vector<Piece> pieces = {{{-1, 0, ""}, 0, 0}};
  bool cut = true;  // whether operators cut this step
  int depth = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    Key key = pieces.back().key;
    if (const auto* step = std::get_if<event::Step>(&events[i].what)) {
      key = {step->iteration, step->number, name_of(step->unit)};
      cut = !step->unit;
      depth = 0;
    } else if (const auto* begin = std::get_if<event::OperatorBegin>(&events[i].what)) {
      if (depth++ > 0 || !cut || !begin->unit) continue;
      std::get<2>(key) = name_of(begin->unit);
    } else {
      if (std::holds_alternative<event::OperatorEnd>(events[i].what))
        depth = std::max(0, depth - 1);
      continue;
    }
    if (key == pieces.back().key) continue;
    const std::size_t position = run.index_of(leader, i);
    pieces.back().end = position;
    pieces.push_back({key, position, position});
  }
  pieces.back().end = run.size();
  std::erase_if(pieces, [](const Piece& piece) { return piece.begin == piece.end; });
  return pieces;
}

// Where keys occur in a row, and whether one does from some place on.
class Places {
 public:
  template <class Row, class KeyOf>
  Places(const Row& row, KeyOf key_of) {
    for (std::size_t i = 0; i < row.size(); ++i) at_[key_of(row[i])].push_back(i);
  }
  // How far ahead; `kNever` when it does not come.
  std::size_t ahead(const Key& key, std::size_t from) const {
    const auto found = at_.find(key);
    if (found == at_.end()) return kNever;
    const auto& at = found->second;
    const auto next = std::lower_bound(at.begin(), at.end(), from);
    return next == at.end() ? kNever : *next - from;
  }
  static constexpr std::size_t kNever = SIZE_MAX;

 private:
  std::map<Key, std::vector<std::size_t>> at_;
};

// One phase of the common row, and which piece each run has in it (SIZE_MAX: none).
struct Joined {
  Key key;
  std::vector<std::size_t> pieces;
};

// Adds the pieces of one more run to the row: the same keys meet, the rest goes in between.
std::vector<Joined> join(const std::vector<Joined>& row, const std::vector<Piece>& pieces,
                         std::size_t run) {
  const auto row_key = [](const Joined& joined) { return joined.key; };
  const auto piece_key = [](const Piece& piece) { return piece.key; };
  const Places in_row(row, row_key), in_pieces(pieces, piece_key);
  std::vector<Joined> result;
  const auto same_step = [](const Key& a, const Key& b) {
    return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) == std::get<1>(b);
  };
  std::size_t i = 0, j = 0;
  while (i < row.size() || j < pieces.size()) {
    const std::size_t row_in_pieces =
        i < row.size() ? in_pieces.ahead(row[i].key, j) : Places::kNever;
    const std::size_t piece_in_row =
        j < pieces.size() ? in_row.ahead(pieces[j].key, i) : Places::kNever;
    const bool both_there = i < row.size() && j < pieces.size();
    const bool both_alone = row_in_pieces == Places::kNever && piece_in_row == Places::kNever;
    const bool meet = both_there && (row[i].key == pieces[j].key ||
                                     (both_alone && same_step(row[i].key, pieces[j].key)));
    // Who comes first: the one that the other run does not have, or has later.
    const bool take_row =
        meet || j == pieces.size() ||
        (i < row.size() && (row_in_pieces == Places::kNever ||
                            (piece_in_row != Places::kNever && row_in_pieces >= piece_in_row)));
    Joined joined;
    if (take_row) joined = row[i++];
    else joined.key = pieces[j].key;
    joined.pieces.resize(run, SIZE_MAX);
    joined.pieces.push_back(meet || !take_row ? j++ : SIZE_MAX);
    result.push_back(std::move(joined));
  }
  return result;
}

}  // namespace

Alignment::Alignment(const std::vector<std::shared_ptr<const Run>>& runs) : lines_(runs.size()) {
  std::vector<std::vector<Piece>> pieces;
  std::vector<Joined> row;
  for (const auto& run : runs) {
    pieces.push_back(pieces_of(*run));
    row = join(row, pieces.back(), pieces.size() - 1);
  }
  for (auto& line : lines_) line.push_back({0, 0});
  double clock = 0;
  for (const Joined& joined : row) {
    Phase phase{std::get<0>(joined.key),
                std::get<1>(joined.key),
                std::string(std::get<2>(joined.key)),
                clock,
                clock,
                std::vector<bool>(runs.size())};
    for (std::size_t r = 0; r < runs.size(); ++r) {
      phase.has[r] = joined.pieces[r] != SIZE_MAX;
      if (!phase.has[r]) continue;
      const Piece& piece = pieces[r][joined.pieces[r]];
      phase.end = std::max(phase.end, clock + static_cast<double>(piece.end - piece.begin));
    }
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const std::size_t before = lines_[r].back().position;
      lines_[r].push_back({phase.end, phase.has[r] ? pieces[r][joined.pieces[r]].end : before});
    }
    clock = phase.end;
    phases_.push_back(std::move(phase));
  }
}

double Alignment::length() const { return phases_.empty() ? 0 : phases_.back().end; }

std::size_t Alignment::phase_at(double clock) const {
  if (phases_.empty()) return 0;
  const auto after = std::upper_bound(phases_.begin(), phases_.end(), clock,
                                      [](double c, const Phase& phase) { return c < phase.end; });
  return static_cast<std::size_t>(std::min(after, phases_.end() - 1) - phases_.begin());
}

std::size_t Alignment::position(std::size_t run, double clock) const {
  const auto& line = lines_[run];
  const auto after = std::upper_bound(line.begin(), line.end(), clock,
                                      [](double c, const Point& point) { return c < point.clock; });
  if (after == line.begin()) return 0;
  if (after == line.end()) return line.back().position;
  const Point &a = *std::prev(after), &b = *after;
  const double part = (clock - a.clock) / (b.clock - a.clock);
  const auto events = static_cast<double>(b.position - a.position);
  // A little more than the exact place, so that rounding does not lose an event.
  return a.position + static_cast<std::size_t>(std::min(events, part * events + 1e-6));
}

double Alignment::clock(std::size_t run, std::size_t position) const {
  const auto& line = lines_[run];
  const auto at =
      std::lower_bound(line.begin(), line.end(), position,
                       [](const Point& point, std::size_t p) { return point.position < p; });
  if (at == line.end()) return length();
  if (at->position == position || at == line.begin()) return at->clock;
  const Point &a = *std::prev(at), &b = *at;
  return a.clock + (b.clock - a.clock) * static_cast<double>(position - a.position) /
                       static_cast<double>(b.position - a.position);
}

}  // namespace zero::replay
