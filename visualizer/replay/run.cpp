// Puts a run in order, plays it once from the start, and keeps worlds on the way for seeking.
#include "visualizer/replay/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/trace/reader.h"

namespace zero::replay {
namespace {

constexpr std::size_t kMostNotes = 40;

}  // namespace

std::shared_ptr<const Run> Run::open(const std::string& directory, Order order,
                                     Progress* progress) {
  LogReader reader(directory);
  reader.read(progress);
  return from(reader.log(), order, progress);
}

std::shared_ptr<const Run> Run::from(RunLog log, Order order, Progress* progress, Keyframes keep) {
  const bool any = std::any_of(log.ranks.begin(), log.ranks.end(),
                               [](const RankLog& rank) { return !rank.path.empty(); });
  if (!any) throw TraceError(log.directory + ": no trace");
  return std::shared_ptr<const Run>(new Run(std::move(log), order, progress, keep));
}

Run::Run(RunLog log, Order order, Progress* progress, Keyframes keep)
    : log_(std::move(log)),
      order_(order),
      notes_(log_.notes),
      ordered_(put_in_order(log_, order)),
      buffers_(log_.ranks.size()),
      memory_(log_.ranks.size()) {
  if (notes_.size() > kMostNotes) {
    notes_.resize(kMostNotes);
    notes_.push_back(log_.directory + ": further notes on its files are not listed");
  }
  notes_.insert(notes_.end(), ordered_.notes.begin(), ordered_.notes.end());
  find_traced();
  find_buffers();
  find_chapters();
  note_missing_messages();
  play_once(progress, keep);
}

std::vector<std::string> Run::first_notes() const {
  constexpr std::size_t kFirst = 5;
  std::vector<std::string> first(
      notes_.begin(),
      notes_.begin() + static_cast<std::ptrdiff_t>(std::min(kFirst, notes_.size())));
  if (notes_.size() > kFirst)
    first.push_back(fmt::format("{}: and {} more", directory(), notes_.size() - kFirst));
  return first;
}

const event::Header& Run::header() const {
  return std::find_if(log_.ranks.begin(), log_.ranks.end(),
                      [](const RankLog& rank) { return !rank.path.empty(); })
      ->header;
}

std::string Run::where(EventIndex e) const {
  return fmt::format("{}:{}", rank(rank_of(e)).path, event(e).line);
}

std::optional<EventIndex> Run::partner(EventIndex e) const {
  if (ordered_.partner[e] == Ordered::kNone) return std::nullopt;
  return ordered_.partner[e];
}

const event::Hop* Run::hop(EventIndex e) const {
  const event::Any& what = event(e).what;
  if (const auto* send = std::get_if<event::Send>(&what)) return &send->hop;
  if (const auto* receive = std::get_if<event::Receive>(&what)) return &receive->hop;
  if (const auto* move = std::get_if<event::Move>(&what)) return &move->hop;
  return nullptr;
}

const BufferInfo* Run::buffer(int rank, std::int64_t number) const {
  const auto& buffers = buffers_[static_cast<std::size_t>(rank)];
  const auto found = buffers.find(number);
  return found == buffers.end() ? nullptr : &found->second;
}

std::optional<std::size_t> Run::chapter_at(std::size_t position) const {
  const auto after =
      std::upper_bound(chapters_.begin(), chapters_.end(), position,
                       [](std::size_t p, const Chapter& chapter) { return p < chapter.begin; });
  if (after == chapters_.begin()) return std::nullopt;
  return static_cast<std::size_t>(after - chapters_.begin()) - 1;
}

World Run::at(std::size_t position) const {
  position = std::min(position, size());
  const auto after =
      std::upper_bound(keyframes_.begin(), keyframes_.end(), position,
                       [](std::size_t p, const World& keyframe) { return p < keyframe.position; });
  World world = *std::prev(after);
  while (world.position < position) world.apply(*this);
  return world;
}

void Run::find_traced() {
  const event::Header& told = header();
  for (int r = 0; r < world_size(); ++r) {
    if (told.is_traced(r) || !rank(r).path.empty()) traced_.push_back(r);
  }
}

void Run::find_buffers() {
  for (EventIndex e = 0; e < size(); ++e) {
    auto& buffers = buffers_[static_cast<std::size_t>(rank_of(e))];
    if (const auto* allocate = std::get_if<event::Allocate>(&event(e).what)) {
      buffers.try_emplace(allocate->buffer, BufferInfo{rank_of(e), allocate, e, std::nullopt});
    } else if (const auto* free = std::get_if<event::Free>(&event(e).what)) {
      const auto found = buffers.find(free->buffer);
      if (found != buffers.end() && !found->second.death) found->second.death = e;
    }
  }
}

// The n-th step of a rank is the n-th chapter. The rank with most steps names them: the others may
// have been killed earlier.
void Run::find_chapters() {
  std::vector<std::vector<EventIndex>> steps(log_.ranks.size());
  for (EventIndex e = 0; e < size(); ++e) {
    if (std::holds_alternative<event::Step>(event(e).what)) {
      steps[static_cast<std::size_t>(rank_of(e))].push_back(e);
    }
  }
  const auto& longest = *std::max_element(
      steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  for (const EventIndex e : longest) {
    const auto& step = std::get<event::Step>(event(e).what);
    chapters_.push_back(
        {step.iteration, step.number, step.caption, step.unit.value_or(""), size(), 0, 0});
  }
  for (const auto& of_rank : steps) {
    for (std::size_t n = 0; n < of_rank.size(); ++n) {
      chapters_[n].begin = std::min(chapters_[n].begin, of_rank[n] + 1);
      chapters_[n].all_in = std::max(chapters_[n].all_in, of_rank[n] + 1);
    }
  }
  for (std::size_t n = 0; n < chapters_.size(); ++n) {
    chapters_[n].end = n + 1 < chapters_.size() ? chapters_[n + 1].begin : size();
  }
}

// Where a rank's trace ends early, all that others received from it later is missing for one cause.
void Run::note_missing_messages() {
  struct Missing {
    EventIndex first = 0;
    std::int64_t count = 0;
  };
  std::map<int, Missing> missing;  // by the rank that sent them
  for (EventIndex e = 0; e < size(); ++e) {
    const auto* receive = std::get_if<event::Receive>(&event(e).what);
    if (!receive || partner(e)) continue;
    if (!rank(rank_of(e)).header.is_traced(receive->hop.source)) continue;
    Missing& from = missing.try_emplace(receive->hop.source, Missing{e, 0}).first->second;
    ++from.count;
  }
  for (const auto& [source, from] : missing) {
    const bool one = from.count == 1;
    const RankLog* log = source >= 0 && source < world_size() ? &rank(source) : nullptr;
    const std::string what = fmt::format("{} {} from rank {} {} missing", from.count,
                                         one ? "message" : "messages", source, one ? "is" : "are");
    if (!log || log->path.empty()) {
      notes_.push_back(fmt::format("{}: no trace of rank {}, so {}", directory(), source, what));
    } else if (!log->ended) {
      const std::size_t events = log->events.size();
      const std::int64_t line = events == 0 ? 1 : log->events[events - 1].line;
      notes_.push_back(fmt::format("{}:{}: the trace ends here, so {}", log->path, line, what));
    } else {
      notes_.push_back(fmt::format("{}:{}: {}; {} is received here", rank(rank_of(from.first)).path,
                                   event(from.first).line, what, one ? "it" : "the first"));
    }
    if (notes_.size() >= kMostNotes + 20) return;
  }
}

void Run::play_once(Progress* progress, Keyframes keep) {
  World world(*this);
  keyframes_.push_back(world);
  std::size_t memory = 0;
  std::vector<std::string> mistakes;
  while (world.position < size()) {
    const EventIndex e = world.position;
    world.apply(*this, mistakes.size() < kMostNotes ? &mistakes : nullptr);
    const event::Any& what = event(e).what;
    if (std::holds_alternative<event::Allocate>(what) ||
        std::holds_alternative<event::Free>(what)) {
      const auto r = static_cast<std::size_t>(rank_of(e));
      MemoryPoint point{e, {}};
      for (std::size_t c = 0; c < point.live.size(); ++c) {
        point.live[c] = world.ranks[r].memory[c].live;
      }
      memory_[r].push_back(point);
    }
    if (progress && progress->cancelled) throw Cancelled();
    if (world.position % keep.between != 0) continue;
    keyframes_.push_back(world);
    memory += world.weight();
    if (memory < keep.memory) continue;
    // Every second one is enough: those at multiples of twice the distance.
    keep.between *= 2;
    std::erase_if(keyframes_,
                  [&](const World& keyframe) { return keyframe.position % keep.between != 0; });
    memory = 0;
    for (const World& keyframe : keyframes_) memory += keyframe.weight();
  }
  if (mistakes.size() >= kMostNotes) {
    mistakes.resize(kMostNotes);  // one event may make many
    mistakes.push_back(log_.directory + ": further mistakes are not listed");
  }
  notes_.insert(notes_.end(), mistakes.begin(), mistakes.end());
}

}  // namespace zero::replay
