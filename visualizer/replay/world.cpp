// FORMAT.md's table "what a cell holds", carried out on intervals.
#include "visualizer/replay/world.h"

#include <fmt/format.h>

#include <algorithm>

#include "visualizer/replay/run.h"

namespace zero::replay {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;  // a sum beyond is a damaged trace's

// Cells that may be copied: far more than honest traces need, and few enough for time and memory.
constexpr std::size_t kFreeCopies = std::size_t{1} << 20;
constexpr std::size_t kCopiesPerEvent = 16;  // honest: less than one

using Pieces = std::vector<Cell>;

Kind kind_of(const std::string& written) {
  if (written == "initial") return Kind::initial;
  if (written == "zero") return Kind::zero;
  if (written == "local gradient") return Kind::local_gradient;
  if (written == "updated") return Kind::updated;
  if (written == "cast") return Kind::cast;
  if (written == "copied") return Kind::copied;
  return Kind::unknown;
}

// What copying makes of values that one rank made whole. Sums stay sums, and a gradient its rank's.
bool becomes_gathered(Kind kind) {
  return kind == Kind::initial || kind == Kind::zero || kind == Kind::updated ||
         kind == Kind::cast || kind == Kind::copied;
}

Content sum_of(const Content& a, const Content& b) {
  Content sum;
  sum.contributors = a.contributors;
  sum.contributors |= b.contributors;
  sum.repeated = a.repeated || b.repeated || a.contributors.intersects(b.contributors);
  const bool told = a.kind != Kind::unknown && b.kind != Kind::unknown && a.kind != Kind::nothing &&
                    b.kind != Kind::nothing;
  sum.kind = told ? Kind::partial_sum : Kind::unknown;
  return sum;
}

// Element by element: both cover the same elements.
Pieces sum_of(const Pieces& a, const Pieces& b) {
  Pieces sum;
  std::size_t i = 0, j = 0;
  std::int64_t begin = 0;
  while (i < a.size() && j < b.size()) {
    const std::int64_t end = std::min(a[i].end, b[j].end);
    sum.push_back({begin, end, sum_of(a[i].content, b[j].content), 0});
    if (a[i].end == end) ++i;
    if (b[j].end == end) ++j;
    begin = end;
  }
  return sum;
}

Pieces one_piece(std::int64_t size, Content content) {
  if (size == 0) return {};
  return {Cell{0, size, std::move(content), 0}};
}

// The event's sentence, begun with its place, for those who want notes.
struct Notes {
  const Run& run;
  EventIndex event;
  std::vector<std::string>* list;
  void add(const std::string& sentence) const {
    if (list) list->push_back(run.where(event) + ": " + sentence);
  }
};

// One event on its rank.
class Applied {
 public:
  Applied(const Run& run, World& world, std::vector<std::string>* notes)
      : run_(run),
        world_(world),
        event_(world.position),
        rank_(run.rank_of(event_)),
        state_(world.ranks[static_cast<std::size_t>(rank_)]),
        notes_{run, event_, notes} {}

  void operator()(const event::Step&) { state_.step = event_; }
  void operator()(const event::OperatorBegin&) { state_.operators.push_back(event_); }
  void operator()(const event::OperatorEnd&) {
    if (state_.operators.empty()) notes_.add("an operator ends that has not begun");
    else state_.operators.pop_back();
  }
  void operator()(const event::CollectiveBegin&) { state_.collective = event_; }
  void operator()(const event::CollectiveEnd&) {
    if (!state_.collective) notes_.add("a collective ends that has not begun");
    state_.collective.reset();
  }
  void operator()(const event::Iteration&) { state_.iteration = event_; }
  void operator()(const event::End&) {}

  void operator()(const event::Allocate& allocate) {
    const BufferInfo* info = run_.buffer(rank_, allocate.buffer);
    if (!info || info->birth != event_) {
      return notes_.add(fmt::format("buffer {} is allocated a second time", allocate.buffer));
    }
    if (state_.total.live > kMostBytes - allocate.bytes) {
      return notes_.add(fmt::format("buffer {} is too large", allocate.buffer));
    }
    state_.buffers.insert(state_.find(allocate.buffer),
                          {info, std::make_shared<Cells>(allocate.size, event_)});
    event::Bytes& bytes = state_.memory[static_cast<std::size_t>(allocate.category)];
    bytes.live += allocate.bytes;
    bytes.peak = std::max(bytes.peak, bytes.live);
    state_.total.live += allocate.bytes;
    if (state_.total.live > state_.total.peak || !state_.peak) {
      state_.total.peak = state_.total.live;
      state_.peak = event_;
    }
  }
  void operator()(const event::Free& free) {
    const Buffer* buffer = find(free.buffer);
    if (!buffer) return;
    const event::Allocate& allocate = *buffer->info->allocate;
    state_.memory[static_cast<std::size_t>(allocate.category)].live -= allocate.bytes;
    state_.total.live -= allocate.bytes;
    state_.buffers.erase(state_.find(free.buffer));
  }
  void operator()(const event::Write& write) {
    put(write.place, one_piece(write.size, {kind_of(write.what), false, false, RankSet(rank_)}));
  }

  void operator()(const event::Send& send) {
    state_.sent = std::min(kMostBytes, state_.sent + send.bytes);
    if (!run_.is_traced(send.hop.destination)) return;  // when it arrives nobody tells
    auto content = take(send.from, send.hop.range.size());
    world_.in_flight.push_back(
        {event_, run_.partner(event_), std::make_shared<const Pieces>(std::move(content))});
  }
  void operator()(const event::Receive& receive) {
    state_.received = std::min(kMostBytes, state_.received + receive.bytes);
    Pieces result = arrived(receive.hop.range.size());
    if (receive.hop.effect == Effect::add) {
      result = sum_of(result, take(receive.own.value_or(receive.into), receive.hop.range.size()));
    } else {
      for (Cell& piece : result) {
        Kind& kind = piece.content.kind;
        if (becomes_gathered(kind) || kind == Kind::local_gradient) kind = Kind::gathered;
      }
    }
    put(receive.into, divide(std::move(result), receive.divisor));
  }
  void operator()(const event::Move& move) {
    Pieces result = take(move.from, move.hop.range.size());
    if (move.hop.effect == Effect::add) {
      result = sum_of(take(move.into, move.hop.range.size()), result);
    } else {
      for (Cell& piece : result) {
        if (becomes_gathered(piece.content.kind)) piece.content.kind = Kind::gathered;
      }
    }
    put(move.into, divide(std::move(result), move.divisor));
  }
  void operator()(const event::Library& library) {
    if (!find(library.into.buffer)) return;
    std::int64_t at = library.into.at;
    for (const event::Library::Part& part : library.parts) {
      Content content;
      for (const int rank : part.from) content.contributors.insert(rank);
      if (library.average) {
        content.divided = true;
        content.kind = everyone(content) ? Kind::reduced : Kind::partial_sum;
      } else {
        content.kind = Kind::gathered;
      }
      put({library.into.buffer, at}, one_piece(part.range.size(), content));
      if (part.range.size() > kMostBytes - at) return;
      at += part.range.size();
    }
  }

 private:
  const Buffer* find(std::int64_t number) const {
    const Buffer* buffer = state_.buffer(number);
    if (!buffer) notes_.add(fmt::format("buffer {} is not there", number));
    return buffer;
  }

  bool everyone(const Content& content) const {
    return content.contributors.size() == run_.world_size();
  }

  // Of a buffer that is not there, or beyond its end, nothing is known.
  Pieces take(event::Place place, std::int64_t size) {
    const Buffer* buffer = find(place.buffer);
    if (buffer && !buffer->cells().holds(place.at, size)) {
      outside(place, size);
    } else if (buffer) {
      if (auto pieces = buffer->cells().slice(place.at, size, copies_left())) {
        world_.copied += pieces->size();
        return *std::move(pieces);
      }
      world_.copied += copies_left();  // the attempt has its price, too
      notes_.add(fmt::format("buffer {} is in too many pieces to be followed", place.buffer));
    }
    return one_piece(size, {Kind::unknown, false, false, {}});
  }

  std::size_t copies_left() const {
    return kFreeCopies + kCopiesPerEvent * (event_ + 1) - world_.copied;
  }

  void put(event::Place place, Pieces pieces) {
    if (pieces.empty()) return;
    const Buffer* found = find(place.buffer);
    if (!found) return;
    const std::int64_t size = pieces.back().end;
    if (!found->cells().holds(place.at, size)) return outside(place, size);
    for (Cell& piece : pieces) piece.event = event_;
    // Others who share these cells keep what they see.
    Buffer& buffer = state_.buffers.change(state_.find(place.buffer));
    if (buffer.contents.use_count() > 1) {
      buffer.contents = std::make_shared<Cells>(*buffer.contents);
    }
    buffer.contents->paste(place.at, pieces);
  }

  void outside(event::Place place, std::int64_t size) const {
    notes_.add(fmt::format("{} elements at {} are not all within buffer {}", size, place.at,
                           place.buffer));
  }

  // The message of this receive, which is not in flight any more.
  Pieces arrived(std::int64_t size) {
    const auto send = run_.partner(event_);
    if (!send) return one_piece(size, {Kind::unknown, false, false, {}});  // Run has a note of it
    auto& flying = world_.in_flight;
    const auto found =
        flying.first_not([&](const Transfer& transfer) { return transfer.send < *send; });
    const auto content = found->content;
    flying.erase(found);
    const std::int64_t sent = content->empty() ? 0 : content->back().end;
    if (sent != size) {
      notes_.add("the message was sent with another size");
    } else if (content->size() > copies_left()) {
      notes_.add("the message is in too many pieces to be followed");
    } else {
      world_.copied += content->size();
      return *content;
    }
    return one_piece(size, {Kind::unknown, false, false, {}});
  }

  Pieces divide(Pieces pieces, int divisor) const {
    if (divisor == 1) return pieces;
    for (Cell& piece : pieces) {
      Content& content = piece.content;
      const bool average = content.kind == Kind::partial_sum && !content.divided &&
                           !content.repeated && divisor == run_.world_size() && everyone(content);
      content.divided = true;
      if (average) content.kind = Kind::reduced;
    }
    return pieces;
  }

  const Run& run_;
  World& world_;
  EventIndex event_;
  int rank_;
  RankState& state_;
  Notes notes_;
};

}  // namespace

bool Buffer::operator==(const Buffer& other) const {
  return number() == other.number() && info->rank == other.info->rank &&
         (contents == other.contents || *contents == *other.contents);
}

bool Transfer::operator==(const Transfer& other) const {
  return send == other.send && receive == other.receive &&
         (content == other.content || *content == *other.content);
}

SharedList<Buffer>::Iterator RankState::find(std::int64_t number) const {
  return buffers.first_not([number](const Buffer& buffer) { return buffer.number() < number; });
}

const Buffer* RankState::buffer(std::int64_t number) const {
  const auto found = find(number);
  return found != buffers.end() && found->number() == number ? &*found : nullptr;
}

bool RankState::operator==(const RankState& other) const {
  const auto same = [](const event::Bytes& a, const event::Bytes& b) {
    return a.live == b.live && a.peak == b.peak;
  };
  return done == other.done && over == other.over && step == other.step &&
         operators == other.operators && collective == other.collective &&
         iteration == other.iteration && buffers == other.buffers &&
         std::equal(memory.begin(), memory.end(), other.memory.begin(), same) &&
         same(total, other.total) && peak == other.peak && sent == other.sent &&
         received == other.received;
}

World::World(const Run& run) : ranks(static_cast<std::size_t>(run.world_size())) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].over = run.rank(static_cast<int>(r)).events.size() == 0;
  }
}

void World::apply(const Run& run, std::vector<std::string>* notes) {
  const int rank = run.rank_of(position);
  std::visit(Applied(run, *this, notes), run.event(position).what);
  RankState& state = ranks[static_cast<std::size_t>(rank)];
  ++state.done;
  state.over = state.done == run.rank(rank).events.size();
  ++position;
}

std::size_t World::weight() const {
  std::size_t bytes = sizeof(World) + in_flight.size() * sizeof(Transfer);
  for (const RankState& rank : ranks) {
    bytes += sizeof(RankState) + rank.operators.size() * sizeof(EventIndex) +
             rank.buffers.size() * sizeof(Buffer);
    for (const Buffer& buffer : rank.buffers) bytes += buffer.cells().all().size() * sizeof(Cell);
  }
  return bytes;
}

bool World::operator==(const World& other) const {
  return position == other.position && ranks == other.ranks && in_flight == other.in_flight;
}

std::vector<Change> changes_of(const TraceEvent& event) {
  if (const auto* write = std::get_if<event::Write>(&event.what)) {
    return {{write->place.buffer, write->place.at, write->size}};
  }
  if (const auto* receive = std::get_if<event::Receive>(&event.what)) {
    return {{receive->into.buffer, receive->into.at, receive->hop.range.size()}};
  }
  if (const auto* move = std::get_if<event::Move>(&event.what)) {
    return {{move->into.buffer, move->into.at, move->hop.range.size()}};
  }
  std::vector<Change> changes;
  if (const auto* library = std::get_if<event::Library>(&event.what)) {
    std::int64_t at = library->into.at;
    for (const event::Library::Part& part : library->parts) {
      if (part.range.size() > kMostBytes - at) break;
      changes.push_back({library->into.buffer, at, part.range.size()});
      at += part.range.size();
    }
  }
  return changes;
}

}  // namespace zero::replay
