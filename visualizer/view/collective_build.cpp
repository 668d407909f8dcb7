// Looks a collective up: its rows, which buffers it touches where, its steps, and how it ends.
#include <algorithm>
#include <map>
#include <tuple>

#include "visualizer/view/collective_story.h"

namespace zero::view {

using namespace replay;

namespace {

constexpr std::size_t kMostShardRows = 12;     // of ranks without a trace, each for itself
constexpr std::size_t kMostChunkRows = 8;      // more are drawn as one row
constexpr std::size_t kMostAtoms = 100'000;    // by rank: more are not told apart
constexpr std::size_t kMostLooks = 1'000'000;  // at buffers, for what no message is about

}  // namespace

CollectiveStory::CollectiveStory(const Run& run, const Collective& collective,
                                 std::optional<std::int64_t> chunk)
    : run_(run), collective_(collective), number_(collective.number), chunk_(chunk) {
  const auto K = static_cast<std::size_t>(run.world_size());
  sums_.resize(K);
  scratch_.resize(K);
  ended_.resize(K);
  find_rows();
  walk();
  find_steps();
}

void CollectiveStory::find_rows() {
  const Range all = collective_.range;
  for (const event::Shard& shard : run_.header().shards) {
    const Range part = all.intersect(shard.range);
    if (!part.empty()) rows_.push_back({part, shard.owner});
  }
  std::sort(rows_.begin(), rows_.end(),
            [](const Row& a, const Row& b) { return a.range.begin < b.range.begin; });
  const bool overlap =
      std::adjacent_find(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
        return b.range.begin < a.range.end;
      }) != rows_.end();
  if (overlap) rows_.clear();
  if (chunk_) keep_chunk();
  join_rows();
  if (rows_.empty() && !all.empty()) rows_.push_back({all, collective_.owner.value_or(-1)});

  std::vector<std::int64_t> cuts;
  for (const replay::Hop& hop : collective_.hops) {
    const Range range = run_.hop(hop.send)->range;
    cuts.push_back(range.begin);
    cuts.push_back(range.end);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  const auto K = static_cast<std::size_t>(run_.world_size());
  if (cuts.size() * K > kMostAtoms) cuts.clear();

  const auto atoms_of = [&](Range range) {
    std::vector<Atom> atoms;
    std::int64_t begin = range.begin;
    for (auto cut = std::upper_bound(cuts.begin(), cuts.end(), begin);
         cut != cuts.end() && *cut < range.end; ++cut) {
      atoms.push_back({{begin, *cut}, std::vector<std::vector<Use>>(K)});
      begin = *cut;
    }
    atoms.push_back({{begin, range.end}, std::vector<std::vector<Use>>(K)});
    return atoms;
  };
  for (const Row& row : rows_) atoms_.push_back(atoms_of(row.range));
  if (rows_.size() == 1 && atoms_[0].size() > 1 && atoms_[0].size() <= kMostChunkRows) {
    rows_are_chunks_ = true;
    std::vector<Atom> atoms = std::move(atoms_[0]);
    const int owner = rows_[0].owner;
    rows_.clear();
    atoms_.clear();
    for (Atom& atom : atoms) {
      rows_.push_back({atom.range, owner});
      atoms_.emplace_back();
      atoms_.back().push_back(std::move(atom));
    }
  }
}

void CollectiveStory::join_rows() {
  if (columns().size() == static_cast<std::size_t>(run_.world_size())) return;
  if (rows_.size() <= kMostShardRows) return;
  std::vector<Row> joined;
  for (const Row& row : rows_) {
    const bool own = column_of(row.owner) >= 0;
    const bool goes_on = !joined.empty() && !own && column_of(joined.back().owner) < 0 &&
                         joined.back().range.end == row.range.begin;
    if (goes_on) {
      joined.back().range.end = row.range.end;
      joined.back().last = row.owner;
    } else {
      joined.push_back(row);
    }
  }
  rows_ = std::move(joined);
}

// Of each row what the chunk's messages are about.
void CollectiveStory::keep_chunk() {
  for (Row& row : rows_) {
    Range kept{row.range.end, row.range.begin};
    for (const replay::Hop& hop : collective_.hops) {
      const event::Hop& what = *run_.hop(hop.send);
      const Range part = what.range.intersect(row.range);
      if (what.chunk != *chunk_ || part.empty()) continue;
      kept = {std::min(kept.begin, part.begin), std::max(kept.end, part.end)};
    }
    row.range = kept;
  }
  std::erase_if(rows_, [](const Row& row) { return row.range.size() <= 0; });
}

// Through the collective once: what it touches, and what each rank has when its part ends.
void CollectiveStory::walk() {
  World world = run_.at(collective_.begin > 0 ? collective_.begin - 1 : 0);
  std::map<EventIndex, int> begins, ends;  // of the ranks' parts
  for (const Part& part : collective_.parts) {
    begins[part.begin] = part.rank;
    if (part.end) ends[*part.end] = part.rank;
  }
  // Where a rank has not ended, as far as the messages go.
  std::size_t stop = collective_.begin;
  if (!ends.empty()) stop = std::max(stop, ends.rbegin()->first + 1);
  for (const replay::Hop& hop : collective_.hops) {
    stop = std::max({stop, hop.send + 1, hop.receive.value_or(0) + 1});
  }
  for (const EventIndex result : collective_.results) stop = std::max(stop, result + 1);
  stop = std::min(stop, run_.size());
  while (world.position < stop) {
    const EventIndex e = world.position;
    if (collective_.opaque && begins.count(e) > 0) find_sources(world, e, begins[e]);
    touch(e);
    world.apply(run_);
    if (const auto end = ends.find(e); end != ends.end()) {
      const auto rank = static_cast<std::size_t>(end->second);
      ended_[rank] = Ended{e + 1, world.ranks[rank]};
    }
  }
  if (ends.size() < columns().size()) find_untouched(world);
}

// Of one that breaks off: where no message came, or comes yet, what it would have been about. A sum
// is of gradients, the newest ones; what is copied is parameters, or the newest of other buffers.
void CollectiveStory::find_untouched(const World& world) {
  std::size_t looks = 0;
  if (collective_.hops.empty() && collective_.name.find("reduce") != std::string::npos)
    adds_ = true;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const int owner = collective_.owner.value_or(rows_[row].owner);
    for (Atom& atom : atoms_[row]) {
      for (std::size_t rank = 0; rank < atom.uses.size(); ++rank) {
        if (!atom.uses[rank].empty()) continue;
        const event::Allocate* best = nullptr;
        for (const Buffer& buffer : world.ranks[rank].buffers) {
          if (++looks > kMostLooks) return;
          const event::Allocate& allocate = *buffer.info->allocate;
          if (!allocate.range || !allocate.range->contains(atom.range)) continue;
          const std::int64_t at = atom.range.begin - allocate.range->begin;
          if (!buffer.cells().holds(at, atom.range.size())) continue;
          const bool own = buffer.cells().at(at).content.kind == Kind::local_gradient;
          const bool better = adds_ ? own
                                    : !best || best->category != Memory::parameters ||
                                          allocate.category == Memory::parameters;
          if (better) best = &allocate;
        }
        if (!best) continue;
        // Where it is a copy that is missing, what is there is from before.
        const bool source = adds_ || owner == static_cast<int>(rank);
        const EventIndex first = source ? collective_.begin : run_.size();
        atom.uses[rank].push_back({best->buffer, first, std::nullopt, !source});
      }
    }
  }
}

void CollectiveStory::touch(EventIndex e) {
  const int rank = run_.rank_of(e);
  const event::Any& what = run_.event(e).what;
  if (const auto* library = std::get_if<event::Library>(&what)) {
    if (library->collective != number_) return;
    adds_ = adds_ || library->average;
    for (const event::Library::Part& part : library->parts) {
      const bool own = std::find(part.from.begin(), part.from.end(), rank) != part.from.end();
      use(e, rank, library->into.buffer, part.range, false, library->average || !own);
    }
    return;
  }
  const event::Hop* hop = run_.hop(e);
  if (!hop || hop->collective != number_) return;
  if (const auto* send = std::get_if<event::Send>(&what)) {
    adds_ = adds_ || hop->effect == Effect::add;
    read(e, rank, send->from, hop->range);
  } else if (const auto* receive = std::get_if<event::Receive>(&what)) {
    if (receive->own) read(e, rank, *receive->own, hop->range);
    write(e, rank, receive->into, hop->range, hop->effect == Effect::copy || receive->own);
  } else if (const auto* move = std::get_if<event::Move>(&what)) {
    read(e, rank, move->from, hop->range);
    write(e, rank, move->into, hop->range, hop->effect == Effect::copy);
  }
}

void CollectiveStory::read(EventIndex e, int rank, event::Place place, Range range) {
  if (is_flat(rank, place.buffer)) return use(e, rank, place.buffer, range, true, false);
  auto& sums = sums_[static_cast<std::size_t>(rank)];
  for (auto sum = sums.rbegin(); sum != sums.rend(); ++sum) {
    if (sum->buffer != place.buffer || sum->at != place.at) continue;
    if (!sum->left) sum->left = e;
    return;
  }
}

void CollectiveStory::write(EventIndex e, int rank, event::Place place, Range range, bool anew) {
  if (is_flat(rank, place.buffer)) return use(e, rank, place.buffer, range, !anew, anew);
  const int row = row_of(range);
  if (row < 0) return;
  has_sums_ = true;
  Sum sum;
  sum.made = e;
  sum.range = range;
  sum.buffer = place.buffer;
  sum.at = place.at;
  sum.row = row;
  sums_[static_cast<std::size_t>(rank)].push_back(sum);
  auto& scratch = scratch_[static_cast<std::size_t>(rank)];
  if (std::find(scratch.begin(), scratch.end(), place.buffer) == scratch.end()) {
    scratch.push_back(place.buffer);
  }
}

void CollectiveStory::use(EventIndex e, int rank, std::int64_t buffer, Range range, bool reads,
                          bool overwrites) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (range.intersect(rows_[row].range).empty()) continue;
    std::vector<Atom>& atoms = atoms_[row];
    const auto first =
        std::upper_bound(atoms.begin(), atoms.end(), range.begin,
                         [](std::int64_t p, const Atom& atom) { return p < atom.range.end; });
    for (auto atom = first; atom != atoms.end() && atom->range.begin < range.end; ++atom) {
      auto& uses = atom->uses[static_cast<std::size_t>(rank)];
      auto known =
          std::find_if(uses.begin(), uses.end(), [&](const Use& u) { return u.buffer == buffer; });
      if (known == uses.end()) {
        uses.push_back({buffer, e, std::nullopt, overwrites && !reads});
        known = std::prev(uses.end());
      }
      if (reads && !known->first_read) known->first_read = e;
    }
  }
}

// A library's collective does not say what it reads. What it can be: on a rank that contributes to
// an average, gradients of its own; on one whose values are copied, parameters.
void CollectiveStory::find_sources(const World& world, EventIndex e, int rank) {
  const bool nothing = collective_.results.empty();  // what comes of it a rank without a trace has
  bool average = nothing && collective_.name.find("reduce") != std::string::npos;
  adds_ = adds_ || average;
  for (const EventIndex result : collective_.results) {
    average = average || std::get<event::Library>(run_.event(result).what).average;
  }
  for (const Buffer& buffer : world.ranks[static_cast<std::size_t>(rank)].buffers) {
    const event::Allocate& allocate = *buffer.info->allocate;
    if (!allocate.range) continue;
    for (const Row& row : rows_) {
      const Range part = row.range.intersect(*allocate.range);
      if (part.empty() || !buffer.cells().holds(part.begin - allocate.range->begin, part.size()))
        continue;
      const Kind kind = buffer.cells().at(part.begin - allocate.range->begin).content.kind;
      const bool source = average ? kind == Kind::local_gradient
                                  : row.owner == rank && allocate.category == Memory::parameters;
      if (source) use(e, rank, buffer.number(), part, false, false);
    }
  }
}

void CollectiveStory::find_steps() {
  const auto K = static_cast<int>(columns().size());
  bool direct = false;
  int longest = 0;
  row_lanes_.assign(rows_.size(), 1);
  std::map<int, Step> steps;
  for (std::size_t i = 0; i < collective_.hops.size(); ++i) {
    const auto travel = this->travel(collective_.hops[i].send);
    if (!travel) continue;
    Step& step = steps[collective_.hops[i].step];
    step.step = collective_.hops[i].step;
    step.hops.push_back(i);
    ++step.messages;
    step.bytes += travel->bytes;
    step.adds = step.adds || travel->adds;
    bytes_ += travel->bytes;
    chunks_ = std::max(chunks_, travel->chunk + 1);
    const int way = column_of(travel->destination) - column_of(travel->source);
    const bool wraps = way == 1 - K && K > 2;
    wraps_ = wraps_ || wraps;
    direct = direct || (way != 1 && !wraps && K > 2);
    longest = std::max(longest, std::abs(way));
    int& of_row = row_lanes_[static_cast<std::size_t>(travel->row)];
    of_row = std::max(of_row, std::abs(way));
  }
  const int crowd = find_queue();
  if (direct || (K == 2 && crowd > 1)) {
    lanes_ = longest;
    wraps_ = false;
  }
  for (auto& [number, step] : steps) steps_.push_back(std::move(step));
}

// How many messages of a row are under way from one rank to another at a time. Returns the same of
// all rows together.
int CollectiveStory::find_queue() {
  std::map<std::tuple<int, int, int>, std::vector<std::pair<EventIndex, int>>> changes;
  for (const replay::Hop& hop : collective_.hops) {
    const auto travel = this->travel(hop.send);
    if (!travel) continue;
    for (const int row : {travel->row, -1}) {  // -1: all
      auto& lane = changes[{row, travel->source, travel->destination}];
      lane.emplace_back(hop.send, 1);
      if (hop.receive) lane.emplace_back(*hop.receive, -1);
    }
  }
  int crowd = 0;
  for (auto& [lane, those] : changes) {
    std::sort(those.begin(), those.end());
    int& most = std::get<0>(lane) < 0 ? crowd : queue_;
    int now = 0;
    for (const auto& [event, by] : those) most = std::max(most, now += by);
  }
  return crowd;
}

}  // namespace zero::view
