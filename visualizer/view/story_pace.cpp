#include "visualizer/view/story_pace.h"

#include <algorithm>
#include <cmath>

namespace zero::view {

using namespace replay;

namespace {

using Stretch = Pace::Stretch;

constexpr double kTick = 0.03;      // of the logical clock, without messages
constexpr double kQuiet = 4;        // at most, of a step's ticks without messages
constexpr double kInFull = 12;      // of a step's messages at their full length; what is more
constexpr double kShortened = 24;   // takes no longer than this
constexpr double kMoving = 0.75;    // of a message's time; then it rests
constexpr double kLibrary = 0.9;    // a library's collective: one event without messages
constexpr double kIteration = 20;   // of measured time
constexpr double kQuickest = 1e-7;  // an event

// At first equal to x, never more than `most`.
double limited(double x, double most) { return most * x / (most + x); }

// One run's intervals between events: its position goes from p to p + 1 in [clock, clock + length).
struct Interval {
  double clock = 0, length = 0;
  std::size_t phase = 0;
};

std::vector<Interval> intervals_of(const Run& run, std::size_t r, const Alignment& alignment) {
  std::vector<Interval> intervals;
  intervals.reserve(run.size());
  const auto& phases = alignment.phases();
  for (std::size_t i = 0; i < phases.size() && intervals.size() < run.size(); ++i) {
    if (!phases[i].has[r]) continue;
    const std::size_t end = std::min(alignment.position(r, phases[i].end), run.size());
    if (end <= intervals.size()) continue;
    const std::size_t n = end - intervals.size();
    const double length = (phases[i].end - phases[i].begin) / static_cast<double>(n);
    for (std::size_t k = 0; k < n; ++k) {
      intervals.push_back({phases[i].begin + length * static_cast<double>(k), length, i});
    }
  }
  return intervals;
}

// Of each tick's way to the next, the seconds that the messages under way then want.
std::vector<double> messages_of(const Run& run, const std::vector<std::size_t>& tick) {
  std::vector<double> wanted(tick.empty() ? 0 : tick.back() + 1);
  for (EventIndex e = 0; e < tick.size(); ++e) {
    if (std::holds_alternative<event::Library>(run.event(e).what) && tick[e] > 0) {
      wanted[tick[e] - 1] = std::max(wanted[tick[e] - 1], kLibrary);
    }
    if (!std::holds_alternative<event::Send>(run.event(e).what)) continue;
    const auto receive = run.partner(e);
    if (!receive || *receive >= tick.size() || tick[*receive] <= tick[e]) continue;
    const std::size_t ticks = tick[*receive] - tick[e];
    const double each = Pace::kMessage / static_cast<double>(ticks);
    if (each <= kTick) continue;  // it waits for a rank that does something else
    for (std::size_t t = tick[e]; t < tick[*receive]; ++t) wanted[t] = std::max(wanted[t], each);
  }
  return wanted;
}

void add_logical(const Run& run, std::size_t r, const Alignment& alignment,
                 std::vector<Stretch>& into) {
  const std::vector<Interval> intervals = intervals_of(run, r, alignment);
  std::vector<std::size_t> tick(intervals.size());
  for (EventIndex e = 1; e < tick.size(); ++e) {
    tick[e] = tick[e - 1] + (run.time(e) > run.time(e - 1) ? 1 : 0);
  }
  const std::vector<double> messages = messages_of(run, tick);
  const auto& phases = alignment.phases();
  const auto same_step = [&](std::size_t a, std::size_t b) {
    const Alignment::Phase &p = phases[intervals[a].phase], &q = phases[intervals[b].phase];
    return p.iteration == q.iteration && p.number == q.number;
  };
  for (EventIndex begin = 0, end = 0; begin < tick.size(); begin = end) {
    double quiet = 0, moving = 0;
    for (end = begin; end < tick.size() && same_step(begin, end); ++end) {
      if (end == 0 || tick[end] == tick[end - 1]) continue;
      const double message = messages[tick[end] - 1];
      (message > 0 ? moving : quiet) += message > 0 ? message : kTick;
    }
    const double quicker = quiet > 0 ? limited(quiet, kQuiet) / quiet : 1;
    const double shorter =
        moving > kInFull ? (kInFull + limited(moving - kInFull, kShortened)) / moving : 1;
    for (EventIndex e = begin, next = begin; e < end; e = next) {
      // One tick: on the way to its first event messages move, until its last one they rest.
      while (next < end && tick[next] == tick[e]) ++next;
      const double message = e > 0 && tick[e] > tick[e - 1] ? messages[tick[e] - 1] : 0;
      const double all = message > 0 ? message * shorter : kTick * quicker;
      const std::size_t others = next - e - 1;
      const double first = others == 0 ? all : message > 0 ? all * kMoving : 0;
      into.push_back({intervals[e].clock, intervals[e].clock + intervals[e].length, first});
      for (EventIndex k = e + 1; k < next; ++k) {
        into.push_back({intervals[k].clock, intervals[k].clock + intervals[k].length,
                        (all - first) / static_cast<double>(others)});
      }
    }
  }
}

void add_measured(const Run& run, std::size_t r, const Alignment& alignment,
                  std::vector<Stretch>& into) {
  const std::vector<Interval> intervals = intervals_of(run, r, alignment);
  if (intervals.size() < 2) return;
  const auto& phases = alignment.phases();
  const auto iterations = static_cast<double>(
      std::max<std::int64_t>(1, phases.back().iteration + (phases.back().iteration >= 0 ? 1 : 0)));
  const double all = static_cast<double>(run.time(intervals.size() - 1) - run.time(0));
  const double scale = all > 0 ? kIteration * iterations / all : 0;
  for (EventIndex e = 1; e < intervals.size(); ++e) {
    into.push_back({intervals[e].clock, intervals[e].clock + intervals[e].length,
                    scale * static_cast<double>(run.time(e) - run.time(e - 1))});
  }
}

// A step that has ended stays until the first event of the next one.
void add_pauses(const Alignment& alignment, const std::vector<StepBegin>& steps,
                std::vector<Stretch>& into) {
  for (const StepBegin& step : steps) {
    const Alignment::Phase& phase = alignment.phases()[step.phase];
    if (step.phase == 0) continue;
    into.push_back({phase.begin, std::min(phase.begin + 1, phase.end), Pace::kPause});
  }
}

}  // namespace

Pace::Pace(const std::vector<std::shared_ptr<const Run>>& runs, const Alignment& alignment,
           const std::vector<StepBegin>& steps) {
  const bool measured = !runs.empty() && runs.front()->order() == Order::measured;
  std::vector<std::vector<Stretch>> rows(runs.size() + 1);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    (measured ? add_measured : add_logical)(*runs[r], r, alignment, rows[r]);
  }
  if (!measured) add_pauses(alignment, steps, rows.back());

  std::vector<double> cuts = {0, alignment.length()};
  for (const auto& row : rows) {
    for (const Stretch& stretch : row) {
      cuts.push_back(stretch.begin);
      cuts.push_back(stretch.end);
    }
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::size_t> at(rows.size());
  knots_.push_back({0, 0});
  for (const double cut : cuts) {
    const Knot& last = knots_.back();
    if (cut - last.clock < 1e-9) continue;
    double slowest = kQuickest;  // seconds in one unit of the clock
    for (std::size_t r = 0; r < rows.size(); ++r) {
      while (at[r] < rows[r].size() && rows[r][at[r]].end <= last.clock + 1e-9) ++at[r];
      if (at[r] == rows[r].size()) continue;
      const Stretch& stretch = rows[r][at[r]];
      if (stretch.begin > last.clock + 1e-9) continue;
      slowest = std::max(slowest, stretch.seconds / (stretch.end - stretch.begin));
    }
    knots_.push_back({cut, last.seconds + slowest * (cut - last.clock)});
  }
}

double Pace::seconds(double clock) const {
  const auto after = std::upper_bound(knots_.begin(), knots_.end(), clock,
                                      [](double c, const Knot& knot) { return c < knot.clock; });
  if (after == knots_.begin()) return 0;
  if (after == knots_.end()) return length();
  const Knot &a = *std::prev(after), &b = *after;
  return a.seconds + (b.seconds - a.seconds) * (clock - a.clock) / (b.clock - a.clock);
}

double Pace::clock(double seconds) const {
  const auto after = std::upper_bound(knots_.begin(), knots_.end(), seconds,
                                      [](double s, const Knot& knot) { return s < knot.seconds; });
  if (after == knots_.begin()) return 0;
  if (after == knots_.end()) return knots_.back().clock;
  const Knot &a = *std::prev(after), &b = *after;
  return a.clock + (b.clock - a.clock) * (seconds - a.seconds) / (b.seconds - a.seconds);
}

}  // namespace zero::view
