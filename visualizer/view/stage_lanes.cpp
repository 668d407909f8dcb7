#include "visualizer/view/stage_lanes.h"

#include <algorithm>
#include <numeric>

namespace zero::view {

using namespace replay;

namespace {

constexpr std::size_t kMostLanes = 8;     // of a category: then buffers of any names share them
constexpr std::size_t kMostByName = 4;    // the same of those that come and go
constexpr std::size_t kMostKnown = 4096;  // buffers that a bar remembers: a hostile trace has more
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

// Whether it stands for positions that there are. In a damaged trace ranges may be anything.
bool is_flat(const event::Allocate& allocate, std::int64_t positions) {
  const auto& range = allocate.range;
  return range && range->begin >= 0 && range->begin < range->end && range->end <= positions;
}

bool overlap(Range a, Range b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace

bool is_model_state(Memory category) {
  return category == Memory::parameters || category == Memory::gradients ||
         category == Memory::optimizer_states;
}

// Puts the buffers of one rank into bars, in order of birth, and frees them.
class Lanes::Sorter {
 public:
  Sorter(std::vector<Lane>& lanes, std::size_t run, std::size_t runs)
      : lanes_(lanes), run_(run), runs_(runs) {}

  int place(const event::Allocate& allocate) {
    const Range range = *allocate.range;
    const std::size_t lane = choose(allocate, range);
    held_.resize(lanes_.size());
    auto& held = held_[lane];
    if (held.alive.size() < kMostKnown) held.alive.push_back({allocate.buffer, range});
    const auto same = [&](const Held::Named& n) {
      return n.range == range && n.name == allocate.name;
    };
    if (held.ever.size() < kMostKnown && std::none_of(held.ever.begin(), held.ever.end(), same)) {
      held.ever.push_back({allocate.name, range});
    }
    std::string& name = lanes_[lane].names[run_];
    if (name.empty()) name = allocate.name;
    lanes_[lane].bytes = std::max(lanes_[lane].bytes, bytes_of(allocate.dtype));
    return static_cast<int>(lane);
  }

  void free(std::size_t lane, std::int64_t buffer) {
    std::erase_if(held_[lane].alive, [&](const Held::Alive& a) { return a.buffer == buffer; });
  }

 private:
  struct Held {
    struct Alive {
      std::int64_t buffer;
      Range range;
    };
    struct Named {
      std::string_view name;
      Range range;
    };
    std::vector<Alive> alive;
    std::vector<Named> ever;
  };

  bool is_free(std::size_t lane, Range range) const {
    return lane >= held_.size() ||
           (held_[lane].alive.size() < kMostKnown &&
            std::none_of(held_[lane].alive.begin(), held_[lane].alive.end(),
                         [&](const Held::Alive& a) { return overlap(a.range, range); }));
  }
  bool was_never_used(std::size_t lane, Range range) const {
    return lane >= held_.size() ||
           (held_[lane].ever.size() < kMostKnown &&
            std::none_of(held_[lane].ever.begin(), held_[lane].ever.end(),
                         [&](const Held::Named& n) { return overlap(n.range, range); }));
  }

  // The bar of the same name; else the first where nothing else ever stood for these positions;
  // else a new one.
  std::size_t choose(const event::Allocate& allocate, Range range) {
    const bool passing = !is_model_state(allocate.category);
    std::vector<std::size_t> of_category;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i].category == allocate.category) of_category.push_back(i);
    }
    for (const std::size_t i : of_category) {
      const auto& names = lanes_[i].names;
      const bool named = std::find(names.begin(), names.end(), allocate.name) != names.end();
      if (named && (names[run_].empty() || names[run_] == allocate.name) && is_free(i, range)) {
        return i;
      }
    }
    const bool by_name = passing && of_category.size() < kMostByName;
    if (!by_name) {
      for (const std::size_t i : of_category) {
        if (was_never_used(i, range)) return i;
      }
    }
    if (of_category.size() < kMostLanes) {
      Lane lane;
      lane.category = allocate.category;
      lane.passing = passing;
      lane.names.resize(runs_);
      lanes_.push_back(lane);
      return lanes_.size() - 1;
    }
    for (const std::size_t i : of_category) {
      if (is_free(i, range)) return i;
    }
    return of_category.back();
  }

  std::vector<Lane>& lanes_;
  std::size_t run_, runs_;
  std::vector<Held> held_;  // by bar
};

Lanes::Lanes(const Session& session) {
  const auto runs = static_cast<std::size_t>(session.size());
  ranks_.resize(runs);
  columns_ = session.ranks();
  for (std::size_t r = 0; r < runs; ++r) {
    const Run& run = session.run(static_cast<int>(r));
    const event::Header& header = run.header();
    ranks_[r].resize(static_cast<std::size_t>(run.world_size()));
    traced_.push_back(run.traced());
    positions_ = std::max(positions_, header.padded_parameters);
    std::unordered_map<std::string_view, const event::NamedRange*> units;
    for (const event::NamedRange& unit : header.units) units.try_emplace(unit.name, &unit);
    const auto unit_of = [&](const std::optional<std::string>& name) {
      const auto found = name ? units.find(*name) : units.end();
      return found == units.end() ? nullptr : found->second;
    };
    for (std::size_t k = 0; k < ranks_[r].size(); ++k) {
      OfRank& of_rank = ranks_[r][k];
      Sorter sorter(lanes_, r, runs);
      std::unordered_map<std::int64_t, std::int64_t> loose;  // bytes, by number
      std::int64_t live = 0;
      const event::NamedRange* step_unit = nullptr;
      const EventList& events = run.rank(static_cast<int>(k)).events;
      for (std::size_t i = 0; i < events.size(); ++i) {
        const auto busy = [&](std::string_view what, const event::NamedRange* unit, Range range) {
          of_rank.work.push_back({static_cast<std::uint32_t>(i), what, range,
                                  unit ? std::string_view(unit->name) : std::string_view(),
                                  unit ? unit->range : Range{}});
        };
        const event::Any& what = events[i].what;
        if (const auto* allocate = std::get_if<event::Allocate>(&what)) {
          // A number that is given a second time gives no second buffer.
          if (run.buffer(static_cast<int>(k), allocate->buffer)->allocate != allocate) continue;
          occurs_[static_cast<std::size_t>(allocate->category)] = true;
          if (is_flat(*allocate, header.padded_parameters)) {
            of_rank.lane[allocate->buffer] = sorter.place(*allocate);
            smallest_ = std::min(smallest_, allocate->range->size());
          } else {
            loose[allocate->buffer] = allocate->bytes;
            live = std::min(kMostBytes, live + allocate->bytes);
            most_loose_ = std::max(most_loose_, live);
          }
        } else if (const auto* freed = std::get_if<event::Free>(&what)) {
          if (const auto found = loose.find(freed->buffer); found != loose.end()) {
            live = std::max<std::int64_t>(0, live - found->second);
            loose.erase(found);
          } else if (const auto lane = of_rank.lane.find(freed->buffer);
                     lane != of_rank.lane.end()) {
            sorter.free(static_cast<std::size_t>(lane->second), freed->buffer);
          }
        } else if (const auto* step = std::get_if<event::Step>(&what)) {
          step_unit = unit_of(step->unit);
          busy({}, step_unit, step_unit ? step_unit->range : Range{});
        } else if (const auto* begin = std::get_if<event::OperatorBegin>(&what)) {
          const event::NamedRange* unit = begin->unit ? unit_of(begin->unit) : step_unit;
          busy(begin->name, unit, unit ? unit->range : Range{});
        } else if (const auto* collective = std::get_if<event::CollectiveBegin>(&what)) {
          busy(collective->name, step_unit, collective->range);
        }
      }
    }
  }

  // The model states first, in the order of the categories.
  std::vector<std::size_t> order(lanes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(lanes_[a].passing, lanes_[a].category) <
           std::pair(lanes_[b].passing, lanes_[b].category);
  });
  std::vector<int> place(lanes_.size());
  std::vector<Lane> sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<int>(i);
    sorted.push_back(lanes_[order[i]]);
  }
  lanes_ = std::move(sorted);
  for (auto& run : ranks_) {
    for (OfRank& of_rank : run) {
      for (auto& [buffer, lane] : of_rank.lane) lane = place[static_cast<std::size_t>(lane)];
    }
  }
}

int Lanes::of(int run, int rank, std::int64_t buffer) const {
  const auto& lane = ranks_[static_cast<std::size_t>(run)][static_cast<std::size_t>(rank)].lane;
  const auto found = lane.find(buffer);
  return found == lane.end() ? -1 : found->second;
}

const Busy* Lanes::work(int run, int rank, std::size_t done) const {
  const auto& all = ranks_[static_cast<std::size_t>(run)][static_cast<std::size_t>(rank)].work;
  const auto next = std::upper_bound(all.begin(), all.end(), done,
                                     [](std::size_t d, const Busy& w) { return d <= w.from; });
  return next == all.begin() ? nullptr : &*std::prev(next);
}

}  // namespace zero::view
