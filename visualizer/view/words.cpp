#include "visualizer/view/words.h"

#include <fmt/format.h>

#include "common/memory/bytes.h"

namespace zero::view {

using namespace replay;

std::string brief_bytes(std::int64_t bytes) {
  const std::string exact = format_bytes(bytes);
  return exact.substr(0, exact.find(" ("));
}

std::string range_text(Range range) {
  return fmt::format("[{}, {})", with_commas(range.begin), with_commas(range.end));
}

std::string rank_text(const RankSet& ranks, int world_size) {
  const int n = ranks.size();
  if (n == 0) return "no rank";
  if (n == world_size && n > 1) return fmt::format("all {} ranks", n);
  std::string text = n == 1 ? "rank " : "ranks ";
  bool first = true;
  for (int r = 0; r < world_size; ++r) {
    if (!ranks.contains(r)) continue;
    if (text.size() > 40) return text + ", \u2026";
    if (!first) text += ", ";
    text += std::to_string(r);
    first = false;
  }
  return text;
}

std::string number_text(double value) { return fmt::format("{:.5g}", value); }

std::string line_text(const Run& run, EventIndex event) {
  const std::string where = run.where(event);
  const std::size_t slash = where.rfind('/');
  return slash == std::string::npos ? where : where.substr(slash + 1);
}

const event::Step* step_of(const Run& run, EventIndex event) {
  const EventList& events = run.rank(run.rank_of(event)).events;
  for (std::size_t i = run.own_index(event) + 1; i > 0; --i) {
    if (const auto* step = std::get_if<event::Step>(&events[i - 1].what)) return step;
  }
  return nullptr;
}

std::string step_text(const event::Step* step) {
  if (!step) return "before the first step";
  std::string text;
  if (step->iteration >= 0) text = fmt::format("iteration {}, ", step->iteration + 1);
  text += fmt::format("step {}", step->number);
  if (step->unit) text += ", " + *step->unit;
  return text;
}

std::optional<Range> positions_of(const event::Allocate& buffer, std::int64_t begin,
                                  std::int64_t end) {
  if (!buffer.range) return std::nullopt;
  return Range{buffer.range->begin + begin, buffer.range->begin + end};
}

std::string names_at(const std::vector<event::NamedRange>& all, Range positions) {
  const event::NamedRange *first = nullptr, *last = nullptr;
  int n = 0;
  for (const event::NamedRange& named : all) {
    if (named.range.intersect(positions).empty()) continue;
    if (!first) first = &named;
    last = &named;
    ++n;
  }
  if (n == 0) return "";
  if (n == 1) return first->name;
  if (n == 2) return first->name + ", " + last->name;
  return fmt::format("{} \u2013 {} ({})", first->name, last->name, n);
}

std::string content_text(const Content& content, int world_size) {
  const std::string ranks = rank_text(content.contributors, world_size);
  switch (content.kind) {
    case Kind::nothing:
      return "nothing written";
    case Kind::initial:
      return "initial weights";
    case Kind::zero:
      return "zeros";
    case Kind::local_gradient:
      return "local gradient of " + ranks;
    case Kind::partial_sum:
      return (content.repeated ? "sum, some more than once, of " : "sum of ") + ranks;
    case Kind::reduced:
      return "average of " + ranks;
    case Kind::updated:
      return "updated by " + ranks;
    case Kind::cast:
      return "cast by " + ranks;
    case Kind::copied:
      return "copied by " + ranks;
    case Kind::gathered:
      return "copy of what " + ranks + " has";
    case Kind::unknown:
      return "unknown: its message is in no trace";
  }
  return "unknown";
}

namespace {

std::string hop_text(const event::Hop& hop) {
  return fmt::format("{} {}/{}", hop.name, hop.step, hop.steps);
}

}  // namespace

std::string touch_text(const Run& run, const Touched& touched) {
  const event::Any& what = run.event(touched.event).what;
  if (const auto* write = std::get_if<event::Write>(&what)) return "written: " + write->what;
  if (const auto* library = std::get_if<event::Library>(&what)) {
    return library->name + (library->average ? ": average of all" : ": copy");
  }
  if (const auto* send = std::get_if<event::Send>(&what)) {
    return fmt::format("{}: sent to rank {}", hop_text(send->hop), send->hop.destination);
  }
  if (const auto* receive = std::get_if<event::Receive>(&what)) {
    const int source = receive->hop.source;
    if (touched.how == Touch::added) {
      return fmt::format("{}: added to rank {}'s", hop_text(receive->hop), source);
    }
    const char* effect = receive->hop.effect == Effect::copy ? "copy"
                         : receive->divisor > 1              ? "average"
                                                             : "sum";
    return fmt::format("{}: {} from rank {}", hop_text(receive->hop), effect, source);
  }
  if (const auto* move = std::get_if<event::Move>(&what)) {
    return fmt::format("{}: {}", hop_text(move->hop),
                       touched.how == Touch::moved_out   ? "to another buffer"
                       : move->hop.effect == Effect::add ? "own values added"
                                                         : "own values copied");
  }
  return std::string(to_string(touched.how));
}

}  // namespace zero::view
