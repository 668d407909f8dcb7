// Gathers what the ranks say of each collective, by its number.
#include "visualizer/replay/collectives.h"

#include <algorithm>
#include <unordered_map>

namespace zero::replay {
namespace {

class Gathering {
 public:
  explicit Gathering(const Run& run)
      : run_(run), now_(static_cast<std::size_t>(run.world_size())) {}

  std::vector<Collective> all() {
    for (event_ = 0; event_ < run_.size(); ++event_) {
      rank_ = static_cast<std::size_t>(run_.rank_of(event_));
      const event::Any& what = run_.event(event_).what;
      if (const auto* step = std::get_if<event::Step>(&what)) now_[rank_].step = step;
      if (const auto* begin = std::get_if<event::CollectiveBegin>(&what)) begun(*begin);
      if (const auto* end = std::get_if<event::CollectiveEnd>(&what)) ended(*end);
      if (const auto* send = std::get_if<event::Send>(&what)) add(send->hop);
      if (const auto* move = std::get_if<event::Move>(&what)) add(move->hop);
      if (const auto* library = std::get_if<event::Library>(&what)) {
        if (Collective* collective = current(library->collective)) {
          collective->results.push_back(event_);
        }
      }
    }
    for (Collective& collective : found_) {
      if (collective.end == 0) collective.end = run_.size();
      // In closed form a reduction gives the traced ranks nothing where another is the owner.
      const bool elsewhere =
          run_.is_simulated() && collective.owner && !run_.is_traced(*collective.owner);
      collective.opaque = (elsewhere || !collective.results.empty()) && !sends(collective);
    }
    return std::move(found_);
  }

 private:
  void begun(const event::CollectiveBegin& begin) {
    Now& now = now_[rank_];
    const auto known = newest_.find(begin.collective);
    // All ranks take part in the same ones in the same order: a number that comes again is another.
    if (known != newest_.end() && (!now.last || known->second > *now.last)) {
      now.last = known->second;
    } else {
      now.last = newest_[begin.collective] = found_.size();
      Collective fresh;
      fresh.number = begin.collective;
      fresh.name = begin.name;
      fresh.algorithm = begin.algorithm;
      fresh.range = begin.range;
      fresh.owner = begin.owner;
      if (now.step) {
        fresh.iteration = now.step->iteration;
        fresh.step_number = now.step->number;
        fresh.unit = now.step->unit.value_or("");
      }
      fresh.begin = event_ + 1;
      found_.push_back(std::move(fresh));
    }
    Collective& collective = found_[*now.last];
    now.part = collective.parts.size();
    now.within = true;
    collective.parts.push_back({static_cast<int>(rank_), event_, std::nullopt});
  }

  void ended(const event::CollectiveEnd& end) {
    Collective* collective = current(end.collective);
    if (!collective) return;
    collective->parts[now_[rank_].part].end = event_;
    collective->end = event_ + 1;
    now_[rank_].within = false;
  }

  void add(const event::Hop& hop) {
    Collective* collective = current(hop.collective);
    if (!collective) return;
    collective->hops.push_back({event_, run_.partner(event_), hop.step});
    collective->steps = std::max({collective->steps, hop.steps, hop.step});
  }

  bool sends(const Collective& collective) const {
    return std::any_of(collective.hops.begin(), collective.hops.end(), [&](const Hop& hop) {
      return std::holds_alternative<event::Send>(run_.event(hop.send).what);
    });
  }

  // The one that the event's rank is in, if it has this number.
  Collective* current(std::int64_t number) {
    const Now& now = now_[rank_];
    return now.within && found_[*now.last].number == number ? &found_[*now.last] : nullptr;
  }

  // What a rank is in.
  struct Now {
    const event::Step* step = nullptr;
    std::optional<std::size_t> last;  // collective that it began: its place in found_
    std::size_t part = 0;             // its place in that one's parts
    bool within = false;              // it has not ended it
  };

  const Run& run_;
  EventIndex event_ = 0;
  std::size_t rank_ = 0;
  std::vector<Collective> found_;
  std::unordered_map<std::int64_t, std::size_t> newest_;  // by number
  std::vector<Now> now_;                                  // by rank
};

}  // namespace

std::vector<Collective> collectives_of(const Run& run) { return Gathering(run).all(); }

}  // namespace zero::replay
