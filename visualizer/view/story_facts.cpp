#include "visualizer/view/story_facts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace zero::view {

using namespace replay;

namespace {

// Goes through the events of one rank.
class Reading {
 public:
  Reading(const Run& run, int rank, std::vector<ChapterFacts>& facts)
      : run_(run), rank_(rank), all_(run.header().padded_parameters), facts_(facts) {}

  void read() {
    const EventList& events = run_.rank(rank_).events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (std::holds_alternative<event::Step>(events[i].what)) {
        if (chapter_ < facts_.size()) end_chapter();
        ++chapter_;
        const auto& step = std::get<event::Step>(events[i].what);
        if (chapter_ < facts_.size()) facts().after_iteration = step.iteration <= ended_;
        continue;
      }
      // What is before the first step belongs to none.
      if (chapter_ < facts_.size()) std::visit(*this, events[i].what);
    }
    if (chapter_ < facts_.size()) end_chapter();
  }

  void operator()(const event::OperatorBegin& e) {
    // The operators' own words for what they are: "linear_forward".
    facts().forward |= e.name.ends_with("_forward");
    facts().backward |= e.name.ends_with("_backward");
  }
  void operator()(const event::Allocate& e) {
    Held& held = buffers_[e.buffer];
    held.category = e.category;
    held.extent = e.range ? extent(e.range->size()) : Extent::none;
    widen(facts().allocated[static_cast<std::size_t>(e.category)], held.extent);
    facts().activations |= e.category == Memory::activations;
  }
  void operator()(const event::Free& e) {
    const auto found = buffers_.find(e.buffer);
    if (found == buffers_.end()) return;
    const Held& held = found->second;
    const bool state = held.category == Memory::parameters || held.category == Memory::gradients ||
                       held.category == Memory::optimizer_states;
    facts().activations_freed |= held.category == Memory::activations;
    if (!state) {
      facts().gathered_freed |= held.gathered;
      facts().gradients_freed |= held.local_gradient;
    }
    buffers_.erase(found);
  }
  void operator()(const event::Write& e) {
    Held& held = buffers_[e.place.buffer];
    facts().initial |= e.what == "initial";
    if (e.what == "local gradient") {
      held.local_gradient = true;
      facts().local_gradients = true;
      facts().temporary_gradients |= held.category == Memory::temporary;
    }
    if (e.what == "updated") widen(facts().updated, extent(e.size));
    if (e.what == "cast") widen(facts().cast, extent(e.size));
  }
  void operator()(const event::CollectiveBegin& e) {
    auto& collectives = facts().collectives;
    const auto same = [&](const CollectiveFacts& c) {
      return c.name == e.name && c.algorithm == e.algorithm;
    };
    if (std::none_of(collectives.begin(), collectives.end(), same)) {
      collectives.push_back({e.name, e.algorithm, 0, false, false});
    }
  }
  void operator()(const event::Send& e) {
    about(e.hop, e.from);
    if (CollectiveFacts* c = collective(e.hop.name)) {
      const bool reduces = c->name == "all_reduce" || c->name == "reduce_scatter";
      if (!reduces || e.hop.effect == Effect::add) c->hops = std::max(c->hops, e.hop.step);
    }
  }
  void operator()(const event::Receive& e) {
    about(e.hop, e.into);
    if (e.own) about(e.hop, *e.own);
    if (e.hop.effect == Effect::copy) buffers_[e.into.buffer].gathered = true;
  }
  void operator()(const event::Move& e) { about(e.hop, e.from); }
  void operator()(const event::Library& e) {
    if (CollectiveFacts* c = collective(e.name)) about(*c, e.into);
    if (!e.average) buffers_[e.into.buffer].gathered = true;
  }
  void operator()(const event::Iteration& e) {
    facts().ends_iteration = true;
    ended_ = std::max(ended_, e.iteration);
    if (e.loss) facts().loss = e.loss;
    if (e.skipped) skipped_.insert(e.iteration);
  }
  void operator()(const event::Step&) {}
  void operator()(const event::OperatorEnd&) {}
  void operator()(const event::CollectiveEnd&) {}
  void operator()(const event::End&) {}

  const std::set<std::int64_t>& skipped() const { return skipped_; }

 private:
  struct Held {
    Memory category = Memory::temporary;
    Extent extent = Extent::none;
    bool gathered = false, local_gradient = false;
  };

  ChapterFacts& facts() { return facts_[chapter_]; }
  Extent extent(std::int64_t size) const { return size < all_ ? Extent::shard : Extent::all; }
  static void widen(Extent& a, Extent b) { a = std::max(a, b); }
  CollectiveFacts* collective(const std::string& name) {
    for (CollectiveFacts& c : facts().collectives) {
      if (c.name == name) return &c;
    }
    return nullptr;
  }
  void about(const event::Hop& hop, event::Place place) {
    if (CollectiveFacts* c = collective(hop.name)) about(*c, place);
  }
  void about(CollectiveFacts& c, event::Place place) {
    const auto found = buffers_.find(place.buffer);
    if (found == buffers_.end()) return;
    const Held& held = found->second;
    c.gradients |= held.local_gradient || held.category == Memory::gradients;
    c.parameters |= held.category == Memory::parameters;
  }
  void end_chapter() {
    for (const auto& [number, held] : buffers_) {
      if (held.category == Memory::parameters) widen(facts().parameters_kept, held.extent);
    }
  }

  const Run& run_;
  int rank_;
  std::int64_t all_;
  std::vector<ChapterFacts>& facts_;
  std::size_t chapter_ = SIZE_MAX;  // before the first
  std::map<std::int64_t, Held> buffers_;
  std::set<std::int64_t> skipped_;
  std::int64_t ended_ = -1;  // the last iteration that has ended
};

}  // namespace

std::vector<ChapterFacts> facts_of(const Run& run) {
  std::vector<ChapterFacts> facts(run.chapters().size());
  std::set<std::int64_t> skipped;
  for (int r = 0; r < run.world_size(); ++r) {
    Reading reading(run, r, facts);
    reading.read();
    skipped.insert(reading.skipped().begin(), reading.skipped().end());
  }
  for (std::size_t n = 0; n < facts.size(); ++n) {
    facts[n].skipped = skipped.contains(run.chapters()[n].iteration);
  }
  return facts;
}

}  // namespace zero::view
