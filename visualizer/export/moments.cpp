#include "visualizer/export/moments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "common/memory/bytes.h"

namespace zero {

using namespace replay;

const char* const kMomentsHelp = R"(Moments, for --at, --from and --to:
  start, end       of the runs
  12               the end of a step, by its number in the list that `replay RUN --steps` prints
  2:3              the end of iteration 2's step 3 (iterations from 0, start-up is -1)
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

// No rank of any run that goes through the phase has begun the next step.
double end_of(const view::Session& session, const Alignment::Phase& phase) {
  double end = phase.end;
  for (int r = 0; r < session.size(); ++r) {
    if (!phase.has[static_cast<std::size_t>(r)]) continue;
    const auto index = static_cast<std::size_t>(r);
    const Run& run = session.run(r);
    const std::size_t position = session.alignment().position(index, phase.end);
    const auto chapter = run.chapter_at(position);
    if (!chapter) continue;
    const Chapter& last = run.chapters()[*chapter];
    const double begin = session.alignment().clock(index, last.begin);
    if (last.begin > 0 && begin > phase.begin &&
        (last.iteration != phase.iteration || last.number != phase.number)) {
      end = std::min(end, session.alignment().clock(index, last.begin - 1));
    }
  }
  return std::max(end, phase.begin);
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
    throw NoSuchMoment(fmt::format("{}: expected ITERATION:STEP, like 1:3", name));
  }
  std::set<std::int64_t> iterations, steps;
  std::string units;
  std::optional<Stretch> found;
  for (const Alignment::Phase& phase : session.alignment().phases()) {
    if (phase.iteration < 0 && phase.number == 0 && phase.begin == phase.end) continue;
    iterations.insert(phase.iteration);
    if (phase.iteration != *iteration) continue;
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

// Whether a message, or a library's collective, adds up what several ranks hold.
bool adds(const Run& run, const Collective& collective) {
  const auto adds_up = [](const event::Library::Part& part) { return part.from.size() > 1; };
  for (const EventIndex e : collective.results) {
    const auto& parts = std::get<event::Library>(run.event(e).what).parts;
    if (std::any_of(parts.begin(), parts.end(), adds_up)) return true;
  }
  return std::any_of(collective.hops.begin(), collective.hops.end(), [&](const replay::Hop& hop) {
    const event::Hop* said = run.hop(hop.send);
    return said != nullptr && said->effect == Effect::add;
  });
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

Stretch telling_stretch(const view::Session& session) {
  const auto clock = [&](int r, std::size_t position) {
    return session.alignment().clock(static_cast<std::size_t>(r), position);
  };
  std::optional<Stretch> last;
  for (int r = 0; r < session.size(); ++r) {
    const auto& collectives = session.collectives(r);
    const auto found = std::find_if(
        collectives.rbegin(), collectives.rend(),
        [&](const Collective& collective) { return adds(session.run(r), collective); });
    if (found == collectives.rend()) continue;
    const Stretch here{clock(r, found->begin), clock(r, found->end)};
    if (!last || here.end > last->end) last = here;
  }
  return last ? *last : Stretch{0, session.length()};
}

}  // namespace zero
