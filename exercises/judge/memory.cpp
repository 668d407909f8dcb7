// The rungs memory and peak: what a rank keeps after an iteration, and what it held at most.
#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "common/memory/bytes.h"
#include "exercises/judge/judge.h"
#include "exercises/judge/walk.h"

namespace zero::judge {
namespace {

constexpr std::array<Memory, 3> kModelStates = {Memory::parameters, Memory::gradients,
                                                Memory::optimizer_states};

std::int64_t bytes_kept(const Expected& expected, Memory state) {
  return state == Memory::parameters  ? expected.parameters
         : state == Memory::gradients ? expected.gradients
                                      : expected.optimizer_states;
}

std::string words(Memory category) {
  return category == Memory::optimizer_states ? "optimizer states"
                                              : std::string(to_string(category));
}

const char* where_to_look(Memory category) {
  switch (category) {
    case Memory::parameters:
      return "the range with which the parameters are allocated, and who releases what is not kept";
    case Memory::gradients:
      return "the range with which the gradients are allocated, who releases what is not kept, and "
             "whether what lives for one unit only is Memory::temporary";
    case Memory::optimizer_states:
      return "the View that the optimizer is made with: it keeps states for all of its positions";
    default:
      return "the range with which this buffer is allocated, the last line that reads it, and the "
             "line that gives its memory back";
  }
}

// A finding about one thing that several ranks do: of the first of them, and the others by number.
class OnRanks {
 public:
  void add(int rank, Finding finding) {
    if (ranks_.empty()) first_ = std::move(finding);
    if (ranks_.empty() || ranks_.back() != rank) ranks_.push_back(rank);
  }
  void move_to(Findings& findings) {
    if (ranks_.empty()) return;
    if (ranks_.size() > 1)
      first_.text += "\nThe same on " + ranks_text({ranks_.begin() + 1, ranks_.end()}) + ".";
    findings.push_back(std::move(first_));
  }

 private:
  Finding first_;
  std::vector<int> ranks_;
};

// What is alive when an iteration has ended; nothing when it is as it should be.
std::string kept_wrongly(const Request& request, const Expected& expected, const Walk& walk,
                         int rank, std::int64_t iteration, Memory category) {
  const std::int64_t live = walk.live(category);
  if (category == Memory::temporary) {
    if (live == 0) return "";
    return fmt::format(
        "rank {}: temporary buffers of {} are still alive after iteration {}; expected: none{}",
        rank, format_bytes(live), iteration + 1, walk.alive_text(category));
  }
  const std::int64_t formula_bytes = bytes_kept(expected, category);
  // Gradients may be given back earlier.
  if (category == Memory::gradients ? live <= formula_bytes : live == formula_bytes) return "";
  return fmt::format("rank {}: {} of {} are alive after iteration {}; expected: {} = {} ({}){}",
                     rank, format_bytes(live), words(category), iteration + 1,
                     formula(request, category), format_bytes(formula_bytes), sizes(request),
                     walk.alive_text(category));
}

// Parts of the flat vector that are booked as something that does not grow with the model, and
// scratch of the collectives that is not theirs: they have it before anything else is allocated.
bool hidden(const Held& held, bool flat_before) {
  if (held.range && !held.range->empty() &&
      (held.category == Memory::activations || held.category == Memory::workspace))
    return true;
  return held.category == Memory::communication && (flat_before || held.range);
}

// More activations or workspace than the units and their operators allocate.
void check_operators(const Request& request, const Run& run, Findings& findings) {
  if (request.diverged) return;
  for (const auto& [category, most] : {std::pair(Memory::activations, run.truth.activations),
                                       std::pair(Memory::workspace, run.truth.workspace)}) {
    for (const auto& rank : run.result.at("ranks")) {
      const std::int64_t peak = rank.at("memory").at(std::string(to_string(category))).at("peak");
      if (peak <= most) continue;
      findings.push_back(
          {"memory",
           fmt::format("rank {}: {} peak {} > {}, which is what the units and their operators "
                       "allocate themselves",
                       rank.at("rank").get<int>(), to_string(category), format_bytes(peak),
                       format_bytes(most)),
           "what is allocated in this category, and what it holds"});
      break;
    }
  }
}

void check_claims(const Request& request, const Run& run, const Expected& expected,
                  Findings& findings) {
  for (const Memory state : kModelStates) {
    const std::int64_t claimed = run.claims.at(std::string(to_string(state)));
    if (claimed == bytes_kept(expected, state)) continue;
    findings.push_back(
        {"memory",
         fmt::format("the program claims to keep {} of {} on each rank; {} keeps {} = {} ({})",
                     format_bytes(claimed), words(state), title(request.stage),
                     formula(request, state), format_bytes(bytes_kept(expected, state)),
                     sizes(request)),
         "kClosedForm at the top of the file: what it says is printed beside what is measured"});
  }
}

// The highest that a category was, on one rank.
struct Peak {
  std::int64_t bytes = 0;
  std::string place, alive;
};

std::map<Memory, Peak> peaks_of(const RankTrace& trace) {
  std::map<Memory, Peak> peaks;
  Walk walk(trace);
  while (const TraceEvent* event = walk.next()) {
    if (!std::holds_alternative<event::Allocate>(event->what)) continue;
    const Memory category = walk.newest().category;
    Peak& peak = peaks[category];
    if (walk.live(category) <= peak.bytes) continue;
    peak = {walk.live(category), place_text(walk.step()), walk.alive_text(category)};
  }
  return peaks;
}

}  // namespace

Findings check_memory(const Request& request, const Run& run) {
  const Expected expected(request.stage, request.work);
  std::map<Memory, OnRanks> wrong;
  OnRanks in_disguise;
  for (const RankTrace& trace : run.traces) {
    const int rank = trace.header.rank;
    Walk walk(trace);
    bool flat = false;  // something that is part of the flat vector has been allocated
    while (const TraceEvent* event = walk.next()) {
      const bool allocates = std::holds_alternative<event::Allocate>(event->what);
      if (allocates && hidden(walk.newest(), flat)) {
        const Held& held = walk.newest();
        in_disguise.add(
            rank,
            {"memory",
             fmt::format("rank {}: \"{}\" is allocated as {} {}; expected: as parameters, "
                         "gradients, optimizer_states or temporary",
                         rank, shown(held.name), to_string(held.category), place_text(held.born)),
             "what the buffer holds: that is its category"});
      }
      flat = flat || (allocates && walk.newest().range);
      const auto* end = std::get_if<event::Iteration>(&event->what);
      if (!end) continue;
      for (const Memory category :
           {Memory::parameters, Memory::gradients, Memory::optimizer_states, Memory::temporary}) {
        const std::string text =
            kept_wrongly(request, expected, walk, rank, end->iteration, category);
        if (!text.empty()) wrong[category].add(rank, {"memory", text, where_to_look(category)});
      }
    }
  }
  Findings findings;
  for (auto& [category, on_ranks] : wrong) on_ranks.move_to(findings);
  in_disguise.move_to(findings);
  check_operators(request, run, findings);
  check_claims(request, run, expected, findings);
  return findings;
}

Findings check_peak(const Request& request, const Run& run) {
  const Expected expected(request.stage, request.work);
  const bool two_units = request.stage == "zero3";
  const std::map<Memory, std::int64_t> most = {
      {Memory::parameters, expected.parameters},
      {Memory::gradients, expected.gradients},
      {Memory::optimizer_states, expected.optimizer_states},
      {Memory::temporary, (two_units ? 2 : 1) * expected.largest_unit}};
  std::map<Memory, OnRanks> wrong;
  for (const RankTrace& trace : run.traces) {
    const int rank = trace.header.rank;
    for (const auto& [category, peak] : peaks_of(trace)) {
      const auto limit = most.find(category);
      if (limit == most.end() || peak.bytes <= limit->second) continue;
      const std::string what = category != Memory::temporary
                                   ? formula(request, category) + ", " + sizes(request)
                               : two_units ? "the parameters and gradients of the largest unit"
                                           : "the largest unit";
      wrong[category].add(
          rank, {"peak",
                 fmt::format("rank {}: {} peak {} > {} ({}) {}; alive then:{}", rank,
                             words(category), format_bytes(peak.bytes), format_bytes(limit->second),
                             what, peak.place, peak.alive),
                 where_to_look(category)});
    }
  }
  Findings findings;
  for (auto& [category, on_ranks] : wrong) on_ranks.move_to(findings);
  return findings;
}

}  // namespace zero::judge
