// Prints a run's chapters, or what every rank holds at one position, as text.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>

#include "common/memory/bytes.h"
#include "common/trace/reader.h"
#include "visualizer/replay/player.h"
#include "visualizer/replay/say.h"

namespace zero::replay {
namespace {

constexpr const char* kFooter = R"(
A run is the directory that a stage program wrote:

  zero2 --ranks 3 --iterations 2 --trace out/zero2
  replay out/zero2 --steps                the steps of the run, and the position of each
  replay out/zero2 --at 1000              what every rank holds after 1,000 events
  replay out/zero2 --step 12              the same at the end of the 12th step of that list
  replay out/zero2 --at 1000 --history 0 2 17   what happened to element 17 of rank 0's buffer 2

A buffer's cells are shown unit by unit ("|") and, within a unit, shard by shard (" "): a letter for
what is there and, in braces, the ranks whose values it holds.)";

constexpr const char* kLegend =
    ". nothing   i initial   0 zero   g local gradient   + partial sum   = reduced: the average of "
    "all\nu updated   c cast   p copied in its rank   G gathered: a copy of its owner's   ? "
    "unknown";

// A position or step that the run does not have.
struct NotThere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A whole number, `low` or more.
CLI::Validator whole_from(std::int64_t low) {
  const auto check = [low](const std::string& text) {
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    const bool fits = error == std::errc() && rest == end && number >= low;
    return fits ? std::string()
                : fmt::format("'{}': expected a whole number, {} or more", text, low);
  };
  return CLI::Validator(check, "");
}

char letter(Kind kind) { return ".i0g+=ucpG?"[static_cast<std::size_t>(kind)]; }

// "{0-2,4}"
std::string braces(const RankSet& ranks, int world_size) {
  std::string text;
  for (int r = 0; r < world_size; ++r) {
    if (!ranks.contains(r)) continue;
    int last = r;
    while (ranks.contains(last + 1)) ++last;
    text += text.empty() ? "{" : ",";
    text += last == r ? fmt::format("{}", r) : fmt::format("{}-{}", r, last);
    r = last;
  }
  return text.empty() ? text : text + "}";
}

std::string content(const Content& content, int world_size) {
  std::string text(1, letter(content.kind));
  if (content.kind != Kind::nothing) text += braces(content.contributors, world_size);
  if (content.divided && content.kind != Kind::reduced) text += "/";
  if (content.repeated) text += "!";
  return text;
}

// What the elements [begin, end) of a buffer hold; neighbours that hold the same are said once.
std::string contents(const Cells& cells, std::int64_t begin, std::int64_t end, int world_size) {
  std::string text, before;
  for (const Cell& cell : cells.slice(begin, end - begin)) {
    const std::string now = content(cell.content, world_size);
    if (now == before) continue;
    if (!text.empty()) text += ",";
    text += before = now;
  }
  return text;
}

std::string cells_of(const Run& run, const Buffer& buffer) {
  const event::Allocate& allocate = *buffer.info->allocate;
  const int K = run.world_size();
  if (!allocate.range) return contents(buffer.cells(), 0, allocate.size, K);
  const Range held = *allocate.range;
  // Where a new unit, or a new shard of a unit, begins.
  std::set<std::int64_t> units, cuts = {held.begin, held.end};
  const auto cut = [&](std::int64_t at) {
    if (held.begin < at && at < held.end) cuts.insert(at);
  };
  for (const auto& unit : run.header().units) {
    cut(unit.range.begin);
    units.insert(unit.range.begin);
  }
  for (const auto& shard : run.header().shards) cut(shard.range.begin);
  std::string text;
  for (auto at = cuts.begin(); at != cuts.end() && std::next(at) != cuts.end(); ++at) {
    if (at != cuts.begin()) text += units.count(*at) > 0 ? " | " : " ";
    text += contents(buffer.cells(), *at - held.begin, *std::next(at) - held.begin, K);
  }
  return text;
}

std::string kind_of(const TraceEvent& event) {
  static constexpr const char* kNames[] = {
      "step",  "operator",   "operator_end",   "allocate", "free",
      "write", "collective", "collective_end", "send",     "receive",
      "move",  "library",    "iteration",      "end"};
  static_assert(std::size(kNames) == std::variant_size_v<event::Any>);
  return kNames[event.what.index()];
}

void print_rank(const Run& run, const RankState& state, int r) {
  if (run.rank(r).path.empty()) return fmt::print("\nrank {}: no trace\n", r);
  fmt::print("\nrank {}: live {}, peak {}, sent {}\n", r, format_bytes(state.total.live),
             format_bytes(state.total.peak), format_bytes(state.sent));
  if (state.step) {
    const auto& step = std::get<event::Step>(run.event(*state.step).what);
    fmt::print("  iteration {}, {}{}{}\n", step.iteration + 1, step.caption, step.unit ? ": " : "",
               step.unit.value_or(""));
  }
  for (const EventIndex e : state.operators) {
    const auto& begin = std::get<event::OperatorBegin>(run.event(e).what);
    fmt::print("  in {}{}{}\n", begin.name, begin.unit ? " of " : "", begin.unit.value_or(""));
  }
  if (state.collective) {
    const auto& begin = std::get<event::CollectiveBegin>(run.event(*state.collective).what);
    fmt::print("  {} {} ({}), collective {}, [{}, {})\n", state.waiting() ? "ends in" : "in",
               begin.name, begin.algorithm, begin.collective, begin.range.begin, begin.range.end);
  }
  if (state.over && !run.rank(r).ended) fmt::print("  its trace ends here, cut off\n");
  for (const Buffer& buffer : state.buffers) {
    const event::Allocate& allocate = *buffer.info->allocate;
    fmt::print("  {:>3} {:<14} {:<16} {:>10} B  {}\n", allocate.buffer, allocate.name,
               to_string(allocate.category), with_commas(allocate.bytes), cells_of(run, buffer));
  }
}

void print_world(const Run& run, const World& world) {
  const std::size_t traced = run.traced().size();
  const bool all = traced == static_cast<std::size_t>(run.world_size());
  fmt::print("{}, {} ranks{}: position {} of {}\n", run.header().program, run.world_size(),
             all ? "" : fmt::format(", {} of them traced", traced), world.position, run.size());
  if (world.position > 0) {
    const EventIndex e = world.position - 1;
    fmt::print("after {} of rank {}, {}\n", kind_of(run.event(e)), run.rank_of(e), run.where(e));
  }
  for (const int r : run.traced()) {
    print_rank(run, world.ranks[static_cast<std::size_t>(r)], r);
  }
  if (!world.in_flight.empty()) fmt::print("\nin flight\n");
  for (const Transfer& transfer : world.in_flight) {
    const auto& send = std::get<event::Send>(run.event(transfer.send).what);
    std::string pieces;
    for (const Cell& cell : *transfer.content) {
      if (!pieces.empty()) pieces += ',';
      pieces += content(cell.content, run.world_size());
    }
    fmt::print("  {} -> {}: {} step {} of {}, chunk {}, [{}, {}), {} B, {}: {}{}\n",
               send.hop.source, send.hop.destination, send.hop.name, send.hop.step, send.hop.steps,
               send.hop.chunk, send.hop.range.begin, send.hop.range.end, send.bytes,
               send.hop.effect == Effect::add ? "add" : "copy", pieces,
               transfer.receive ? "" : "; never received");
  }
  fmt::print("\n{}\n", kLegend);
}

// Before the event that begins the next step.
std::size_t last_position(const Run& run, std::size_t chapter) {
  const bool is_last = chapter + 1 == run.chapters().size();
  return run.chapters()[chapter].end - (is_last ? 0 : 1);
}

void print_steps(const Run& run) {
  fmt::print("step  position  iteration  caption\n");
  for (std::size_t i = 0; i < run.chapters().size(); ++i) {
    const Chapter& chapter = run.chapters()[i];
    fmt::print("{:>4}  {:>8}  {:>9}  {}{}{}\n", i + 1, chapter.begin, chapter.iteration + 1,
               chapter.caption, chapter.unit.empty() ? "" : ": ", chapter.unit);
  }
}

const BufferInfo& buffer_of(const Run& run, const std::vector<std::int64_t>& which) {
  const auto [rank, number, element] = std::tuple(which[0], which[1], which[2]);
  const BufferInfo* buffer =
      rank >= 0 && rank < run.world_size() ? run.buffer(static_cast<int>(rank), number) : nullptr;
  if (!buffer || element < 0 || element >= buffer->allocate->size) {
    throw NotThere(fmt::format("--history: rank {} has no buffer {} with an element {}", rank,
                               number, element));
  }
  return *buffer;
}

void print_history(const Run& run, const std::vector<std::int64_t>& which) {
  const BufferInfo& buffer = buffer_of(run, which);
  const auto [rank, number, element] = std::tuple(which[0], which[1], which[2]);
  fmt::print("\nelement {} of rank {}'s {} (buffer {})\n", element, rank, buffer.allocate->name,
             number);
  for (const Touched& touched : history(run, buffer, element)) {
    fmt::print("  position {:>7}  {:<24} {}\n", touched.event + 1, to_string(touched.how),
               run.where(touched.event));
  }
}

int run_program(int argc, char** argv) {
  CLI::App app("Replays the trace of a run as text.", "replay");
  std::string directory;
  std::size_t at = SIZE_MAX, step = 0;
  bool steps = false, measured = false, timing = false;
  std::vector<std::int64_t> of_element;
  app.add_option("RUN", directory, "directory with rank0.jsonl, rank1.jsonl, ...")->required();
  auto* at_option = app.add_option("--at", at, "position: the world after so many events (all)")
                        ->check(whole_from(0));
  app.add_option("--step", step, "the world at the end of this step, as --steps counts them")
      ->check(whole_from(1))
      ->excludes(at_option);
  app.add_flag("--steps", steps, "list the steps instead");
  app.add_flag("--measured", measured,
               "order the ranks by their clocks, not by what they wait for");
  app.add_option("--history", of_element, "RANK BUFFER ELEMENT: the events that touched it")
      ->expected(3);
  app.add_flag("--timing", timing, "say how long it took to open the run, and to seek in it");
  app.footer(std::string(kFooter) + "\n\n" + kExitStatus);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    say(fmt::format("replay: {} (--help explains)\n", error.what()));
    return 2;
  }

  using Clock = std::chrono::steady_clock;
  const auto milliseconds = [](Clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
  };
  const auto start = Clock::now();
  const auto run = Run::open(directory, measured ? Order::measured : Order::logical);
  const auto opened = Clock::now();
  for (const std::string& note : run->notes()) say(fmt::format("note: {}\n", note));
  if (*at_option && at > run->size()) {
    throw NotThere(fmt::format("--at {}: there are {} events", at, run->size()));
  }
  if (step > run->chapters().size()) {
    throw NotThere(fmt::format("--step {}: there are {} steps", step, run->chapters().size()));
  }
  if (timing) {
    constexpr std::size_t kSeeks = 200;
    std::vector<double> seeks;
    for (std::size_t i = 0; i < kSeeks; ++i) {
      const auto begin = Clock::now();
      run->at((i * 7919) % (run->size() + 1));
      seeks.push_back(milliseconds(Clock::now() - begin));
    }
    std::sort(seeks.begin(), seeks.end());
    fmt::print("{} events opened in {:.0f} ms; seeking: median {:.2f} ms, slowest {:.2f} ms\n",
               with_commas(static_cast<std::int64_t>(run->size())), milliseconds(opened - start),
               seeks[kSeeks / 2], seeks.back());
  } else if (steps) {
    print_steps(*run);
  } else {
    if (step > 0) at = last_position(*run, step - 1);
    if (!of_element.empty()) buffer_of(*run, of_element);
    print_world(*run, run->at(at));
    if (!of_element.empty()) print_history(*run, of_element);
  }
  return 0;
}

}  // namespace
}  // namespace zero::replay

int main(int argc, char** argv) {
  zero::hold_standard_streams();
  int status = 1;
  try {
    status = zero::replay::run_program(argc, argv);
  } catch (const zero::replay::NotThere& error) {
    zero::say(fmt::format("replay: {}\n", error.what()));
    status = 2;
  } catch (const std::exception& error) {
    zero::say(fmt::format("replay: {}\n", error.what()));
  }
  return zero::finish_output("replay", status);
}
