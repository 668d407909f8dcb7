#include "visualizer/export/moments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/memory/bytes.h"
#include "visualizer/view/story_blocks.h"
#include "visualizer/view/story_waiting.h"

namespace zero {

using namespace replay;

const char* const kMomentsHelp = R"(Moments, for --at, --from and --to:
  start, end       of the runs
  12               the end of a step, by its number in the list that `replay RUN --steps` prints
  2:3              the end of iteration 2's step 3 (counted from 1; 0 is the start-up)
  "2:3:block 1"    the same, where the step is repeated for every unit
  2:3@40%          40% of the way through a step
  e1000            after 1,000 of the first run's events)";

namespace {

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The clock when every rank of a run has ended the chapter, and the last has not begun the next.
double all_ended(const view::Session& session, int r, std::size_t chapter) {
  const auto& chapters = session.run(r).chapters();
  if (chapter + 1 == chapters.size()) return session.length();
  const std::size_t next = chapters[chapter + 1].all_in;
  return session.alignment().clock(static_cast<std::size_t>(r), next > 0 ? next - 1 : 0);
}

// The same for a phase; one that the chapter goes on after ends where the leading rank ends it.
double last_ends(const view::Session& session, int r, const Alignment::Phase& phase) {
  const auto chapter = view::chapter_of(session, r, phase);
  if (!chapter) return phase.end;
  for (const Alignment::Phase& other : session.alignment().phases()) {
    if (other.begin >= phase.end && view::chapter_of(session, r, other) == chapter) {
      return phase.end;
    }
  }
  return all_ended(session, r, *chapter);
}

// A little before the next step, so that no rank of any run has begun it, or not all have. In
// measured time: when the last rank has ended this one, while others may be further.
double end_of(const view::Session& session, const Alignment::Phase& phase) {
  double end = phase.end;
  double last = phase.begin;  // of all runs
  for (int r = 0; r < session.size(); ++r) {
    const auto index = static_cast<std::size_t>(r);
    if (!phase.has[index]) continue;
    if (session.order() == Order::measured) {
      last = std::max(last, last_ends(session, r, phase));
      continue;
    }
    const std::size_t position = session.alignment().position(index, phase.end);
    const auto next = session.run(r).chapter_at(position);
    if (!next) continue;
    const Chapter& chapter = session.run(r).chapters()[*next];
    const double begins = session.alignment().clock(index, chapter.all_in);
    const bool other = chapter.iteration != phase.iteration || chapter.number != phase.number;
    if (other && begins > phase.begin && begins <= end) end = begins - 0.001;
  }
  return session.order() == Order::measured ? last : end;
}

std::string listed(const std::set<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{}", number);
  }
  return text;
}

// ITERATION:STEP or ITERATION:STEP:UNIT
Stretch step_of(const view::Session& session, const std::string& name) {
  const std::size_t colon = name.find(':'), second = name.find(':', colon + 1);
  const auto iteration = number_of(std::string_view(name).substr(0, colon));
  const auto step = number_of(std::string_view(name).substr(
      colon + 1, second == std::string::npos ? second : second - colon - 1));
  const std::string unit = second == std::string::npos ? "" : name.substr(second + 1);
  if (!iteration || !step) {
    throw NoSuchMoment(fmt::format("{}: expected ITERATION:STEP, like 2:3", name));
  }
  std::set<std::int64_t> iterations, steps;
  std::string units;
  std::optional<Stretch> found;
  for (const Alignment::Phase& phase : session.alignment().phases()) {
    iterations.insert(phase.iteration + 1);
    if (phase.iteration + 1 != *iteration) continue;
    steps.insert(phase.number);
    if (phase.number != *step) continue;
    if (!phase.unit.empty() && units.find("'" + phase.unit + "'") == std::string::npos) {
      units += (units.empty() ? "'" : ", '") + phase.unit + "'";
    }
    if (!unit.empty() && phase.unit != unit) continue;
    if (!found) found = Stretch{phase.begin, phase.begin};
    found->end = end_of(session, phase);
  }
  if (found) return *found;
  if (iterations.count(*iteration) == 0) {
    throw NoSuchMoment(fmt::format("{}: there is no iteration {}; there are {}", name, *iteration,
                                   listed(iterations)));
  }
  if (steps.count(*step) == 0) {
    throw NoSuchMoment(fmt::format("{}: iteration {} has no step {}; it has {}", name, *iteration,
                                   *step, listed(steps)));
  }
  throw NoSuchMoment(units.empty()
                         ? fmt::format("{}: that step is about no single unit", name)
                         : fmt::format("{}: no unit '{}' there; there are {}", name, unit, units));
}

Stretch chapter_of(const view::Session& session, std::int64_t number, const std::string& name) {
  const auto& chapters = session.run(0).chapters();
  if (number < 1 || static_cast<std::size_t>(number) > chapters.size()) {
    throw NoSuchMoment(fmt::format("{}: {} has steps 1 to {}; `replay {} --steps` lists them", name,
                                   session.name(0), chapters.size(), session.run(0).directory()));
  }
  const Chapter& chapter = chapters[static_cast<std::size_t>(number) - 1];
  // The position `end` is when the next step has begun.
  const bool last = chapter.end == session.run(0).size();
  if (session.order() == Order::measured) {
    const auto index = static_cast<std::size_t>(number) - 1;
    return {session.alignment().clock(0, chapter.begin), all_ended(session, 0, index)};
  }
  const std::size_t end = std::max(chapter.begin, chapter.end - (last ? 0 : 1));
  return {session.alignment().clock(0, chapter.begin), session.alignment().clock(0, end)};
}

Stretch whole(const view::Session& session, const std::string& name) {
  if (name == "start") return {0, 0};
  if (name == "end") return {session.length(), session.length()};
  if (name.find(':') != std::string::npos) return step_of(session, name);
  if (const auto number = number_of(name)) return chapter_of(session, *number, name);
  if (name.size() > 1 && name.front() == 'e') {
    if (const auto events = number_of(std::string_view(name).substr(1))) {
      const auto most = static_cast<std::int64_t>(session.run(0).size());
      if (*events < 0 || *events > most) {
        throw NoSuchMoment(
            fmt::format("{}: {} has {} events", name, session.name(0), with_commas(most)));
      }
      const double clock = session.alignment().clock(0, static_cast<std::size_t>(*events));
      return {clock, clock};
    }
  }
  throw NoSuchMoment(
      fmt::format("'{}' names no moment: try 12, 2:3, \"2:3:block 1\", 2:3@40%, e1000, start or "
                  "end (see --help)",
                  name));
}

// Elements that a collective adds to others, on their way from rank to rank.
std::int64_t added_in(const Run& run, const Collective& collective) {
  std::int64_t added = 0;
  for (const replay::Hop& hop : collective.hops) {
    const event::Hop* said = run.hop(hop.send);
    if (said != nullptr && said->effect == Effect::add) added += said->range.size();
  }
  for (const EventIndex e : collective.results) {  // a library's: as if sent once by each
    for (const auto& part : std::get<event::Library>(run.event(e).what).parts) {
      if (part.from.size() > 1) added += part.range.size();
    }
  }
  return added;
}

}  // namespace

Stretch stretch_of(const view::Session& session, const std::string& name) {
  const std::size_t at = name.rfind('@');
  if (at == std::string::npos) return whole(session, name);
  const Stretch all = whole(session, name.substr(0, at));
  std::string_view part = std::string_view(name).substr(at + 1);
  const bool ends_well = !part.empty() && part.back() == '%';
  if (ends_well) part.remove_suffix(1);
  const auto percent = number_of(part);
  if (!ends_well || !percent || *percent < 0 || *percent > 100) {
    throw NoSuchMoment(fmt::format("{}: after @ a part is expected, from 0% to 100%", name));
  }
  const double clock = all.begin + (all.end - all.begin) * static_cast<double>(*percent) / 100;
  return {clock, clock};
}

Telling telling_of(const view::Session& session) {
  const auto failing = view::failing_moment(session);
  // By iteration and step, of all runs.
  std::map<std::pair<std::int64_t, int>, std::int64_t> added;
  std::map<std::pair<std::int64_t, int>, Stretch> last;
  for (int r = 0; r < session.size(); ++r) {
    const auto index = static_cast<std::size_t>(r);
    for (const Collective& collective : session.collectives(r)) {
      const std::int64_t here = added_in(session.run(r), collective);
      if (here == 0) continue;
      const auto key = std::pair(collective.iteration, collective.step_number);
      added[key] += here;
      const Stretch stretch{session.alignment().clock(index, collective.begin),
                            session.alignment().clock(index, collective.end)};
      if (last.count(key) == 0 || stretch.end > last[key].end) last[key] = stretch;
    }
  }
  if (added.empty()) return {{0, session.length()}, failing.value_or(session.length())};
  const std::int64_t iteration = added.rbegin()->first.first;
  auto most = added.lower_bound({iteration, std::numeric_limits<int>::min()});
  for (auto step = most; step != added.end(); ++step) {
    if (step->second > most->second) most = step;
  }
  Telling telling{last[most->first], 0};
  for (const Alignment::Phase& phase : session.alignment().phases()) {
    if (std::pair(phase.iteration, phase.number) == most->first)
      telling.after = end_of(session, phase);
  }
  if (failing) telling.after = *failing;
  return telling;
}

}  // namespace zero
