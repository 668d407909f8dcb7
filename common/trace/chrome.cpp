// Turns events into slices, arrows and counters.
#include "common/trace/chrome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

namespace zero {
namespace {

enum Track { steps = 1, operators = 2, communication = 3 };

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Chrome counts in microseconds; three decimals keep every nanosecond.
std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

// Writes the list of Chrome events.
class Writer {
 public:
  explicit Writer(std::ostream& out) : out_(out) {}

  void event(std::string_view phase, int pid, int tid, std::int64_t ns, std::string_view name,
             std::string_view rest) {
    out_ << (first_ ? "\n" : ",\n")
         << fmt::format(R"({{"ph":"{}","pid":{},"tid":{},"ts":{},"name":{}{}}})", phase, pid, tid,
                        microseconds(ns), json_text(name), rest);
    first_ = false;
  }
  void slice(int pid, Track track, std::int64_t from, std::int64_t to, std::string_view name,
             std::string_view args) {
    event("X", pid, track, from, name,
          fmt::format(R"(,"dur":{},"args":{{{}}})", microseconds(to - from), args));
    ++summary.slices;
  }
  void instant(int pid, Track track, std::int64_t at, std::string_view name,
               std::string_view args) {
    event("i", pid, track, at, name, fmt::format(R"(,"s":"t","args":{{{}}})", args));
  }
  void counter(int pid, std::int64_t at, std::string_view name, std::int64_t bytes) {
    event("C", pid, 0, at, name, fmt::format(R"(,"args":{{"bytes":{}}})", bytes));
    ++summary.counters;
  }
  void arrow(int from_pid, std::int64_t from, int to_pid, std::int64_t to) {
    const std::int64_t id = ++summary.arrows;
    event("s", from_pid, communication, from, "message",
          fmt::format(R"(,"cat":"message","id":{})", id));
    event("f", to_pid, communication, to, "message",
          fmt::format(R"(,"cat":"message","bp":"e","id":{})", id));
  }
  void label(std::string_view what, int pid, int tid, std::string_view name) {
    event("M", pid, tid, 0, what, fmt::format(R"(,"args":{{"name":{}}})", json_text(name)));
  }
  void order(std::string_view what, int pid, int tid, int index) {
    event("M", pid, tid, 0, what, fmt::format(R"(,"args":{{"sort_index":{}}})", index));
  }

  ChromeSummary summary;

 private:
  std::ostream& out_;
  bool first_ = true;
};

std::string describe(const event::Hop& hop) {
  return fmt::format(
      R"("collective":{},"step":"{} of {}","chunk":{},"source":{},"destination":{},"effect":"{}",)"
      R"("range":[{},{}])",
      hop.collective, hop.step, hop.steps, hop.chunk, hop.source, hop.destination,
      hop.effect == Effect::add ? "add" : "copy", hop.range.begin, hop.range.end);
}

// Sums of sizes that a hostile trace made up stop here instead of overflowing.
constexpr std::int64_t kMost = std::int64_t{1} << 60;

// One rank's events, in order, become slices on its three tracks, and counters.
class RankWriter {
 public:
  RankWriter(Writer& writer, const RankTrace& trace, std::int64_t shift)
      : writer_(writer), trace_(trace), shift_(shift), pid_(trace.header.rank) {}

  void write() {
    name_tracks();
    now_ = before_ = shift_;
    for (int c = 0; c < kMemoryCategories; ++c) count(static_cast<Memory>(c), 0);
    for (std::size_t i = 0; i < trace_.events.size(); ++i) {
      before_ = now_;
      now_ = trace_.events[i].t + shift_;
      after_ = i + 1 < trace_.events.size() ? trace_.events[i + 1].t + shift_ : now_;
      std::visit([this](const auto& event) { tell(event); }, trace_.events[i].what);
    }
    // What is still open when the trace ends, ends with it.
    while (!operators_.empty()) close_operator(true);
    while (!collectives_.empty()) close_collective(true);
    close_step();
    close_iteration();
  }

 private:
  void name_tracks() {
    writer_.label("process_name", pid_, 0,
                  fmt::format("rank {} ({})", pid_, trace_.header.program));
    writer_.order("process_sort_index", pid_, 0, pid_);
    for (const auto& [track, name] : {std::pair(steps, "steps"), std::pair(operators, "operators"),
                                      std::pair(communication, "communication")}) {
      writer_.label("thread_name", pid_, track, name);
      writer_.order("thread_sort_index", pid_, track, track);
    }
  }

  // ---- steps, inside iterations ----
  void tell(const event::Step& step) {
    close_step();
    if (step.iteration != iteration_) {
      close_iteration();
      iteration_ = step.iteration;
      if (iteration_ >= 0) iteration_begin_ = now_;
    }
    step_ = &step;
    step_begin_ = now_;
  }
  void tell(const event::Iteration&) {
    close_step();
    close_iteration();
  }
  void close_step() {
    if (!step_) return;
    const std::string name =
        step_->unit ? fmt::format("{} [{}]", step_->caption, *step_->unit) : step_->caption;
    writer_.slice(pid_, steps, step_begin_, now_, name, unit_argument(step_->unit));
    step_ = nullptr;
  }
  void close_iteration() {
    if (!iteration_begin_) return;
    writer_.slice(pid_, steps, *iteration_begin_, now_, fmt::format("iteration {}", iteration_),
                  "");
    iteration_begin_.reset();
  }

  // ---- operators, inside each other ----
  void tell(const event::OperatorBegin& begin) { operators_.push_back({&begin, now_}); }
  void tell(const event::OperatorEnd&) {
    if (!operators_.empty()) close_operator(false);
  }
  void close_operator(bool unfinished) {
    const auto [begin, since] = operators_.back();
    operators_.pop_back();
    std::string arguments = unit_argument(begin->unit);
    if (unfinished) arguments += arguments.empty() ? kUnfinished : fmt::format(",{}", kUnfinished);
    writer_.slice(pid_, operators, since, now_, begin->name, arguments);
  }
  static std::string unit_argument(const std::optional<std::string>& unit) {
    return unit ? fmt::format(R"("unit":{})", json_text(*unit)) : "";
  }
  void tell(const event::Write& write) {
    writer_.instant(pid_, operators, now_, "write: " + write.what,
                    fmt::format(R"("buffer":{},"at":{},"size":{})", write.place.buffer,
                                write.place.at, write.size));
  }

  // ---- collectives, and their messages inside ----
  void tell(const event::CollectiveBegin& begin) { collectives_.push_back({&begin, now_}); }
  void tell(const event::CollectiveEnd&) {
    if (!collectives_.empty()) close_collective(false);
  }
  void close_collective(bool unfinished) {
    const auto [begin, since] = collectives_.back();
    collectives_.pop_back();
    std::string arguments = fmt::format(R"("collective":{},"range":[{},{}])", begin->collective,
                                        begin->range.begin, begin->range.end);
    if (unfinished) arguments += fmt::format(",{}", kUnfinished);
    writer_.slice(pid_, communication, since, now_,
                  fmt::format("{} ({})", begin->name, begin->algorithm), arguments);
  }
  // A send's slice lasts until the next event; that of everything which completes began with the
  // event before. So two of them are either apart or the same span, and they nest.
  void tell(const event::Send& send) {
    writer_.slice(pid_, communication, now_, after_,
                  fmt::format("send to {}", send.hop.destination),
                  fmt::format(R"({},"bytes":{})", describe(send.hop), send.bytes));
  }
  void tell(const event::Receive& receive) {
    writer_.slice(pid_, communication, before_, now_,
                  fmt::format("receive from {}", receive.hop.source),
                  fmt::format(R"({},"bytes":{})", describe(receive.hop), receive.bytes));
  }
  void tell(const event::Move& move) {
    writer_.slice(pid_, communication, before_, now_, "move", describe(move.hop));
  }
  void tell(const event::Library& library) {
    writer_.slice(pid_, communication, before_, now_, library.name + " (library)",
                  fmt::format(R"("collective":{})", library.collective));
  }

  // ---- memory ----
  void tell(const event::Allocate& allocate) {
    if (alive_.emplace(allocate.buffer, &allocate).second) {
      count(allocate.category, allocate.bytes);
    }
  }
  void tell(const event::Free& free) {
    const auto found = alive_.find(free.buffer);
    if (found == alive_.end()) return;
    count(found->second->category, -found->second->bytes);
    alive_.erase(found);
  }
  void count(Memory category, std::int64_t bytes) {
    std::int64_t& live = live_[static_cast<std::size_t>(category)];
    live = std::clamp<std::int64_t>(live + bytes, 0, kMost);
    writer_.counter(pid_, now_, fmt::format("memory: {}", to_string(category)), live);
  }

  void tell(const event::End& end) {
    if (end.message) writer_.instant(pid_, steps, now_, end.reason + ": " + *end.message, "");
  }

  static constexpr std::string_view kUnfinished = R"("unfinished":true)";

  Writer& writer_;
  const RankTrace& trace_;
  std::int64_t shift_;
  int pid_;
  std::int64_t before_ = 0, now_ = 0, after_ = 0;  // times of three consecutive events

  const event::Step* step_ = nullptr;
  std::int64_t step_begin_ = 0;
  std::int64_t iteration_ = -1;
  std::optional<std::int64_t> iteration_begin_;
  std::vector<std::pair<const event::OperatorBegin*, std::int64_t>> operators_;
  std::vector<std::pair<const event::CollectiveBegin*, std::int64_t>> collectives_;
  std::map<std::int64_t, const event::Allocate*> alive_;
  std::array<std::int64_t, kMemoryCategories> live_{};
};

const TraceEvent& at(const RunTrace& run, EventPlace place) {
  return run.ranks[place.rank].events[place.index];
}

}  // namespace

Alignment align(const RunTrace& run, const Matched& matched) {
  // least[{a, b}]: b must be shifted by at least this much more than a.
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> least;
  for (const auto& [send, receive] : matched.messages) {
    const std::int64_t lag = at(run, send).t - at(run, receive).t + 1;
    const auto [found, added] = least.emplace(std::pair(send.rank, receive.rank), lag);
    if (!added) found->second = std::max(found->second, lag);
  }
  // Longest paths (Bellman and Ford): as many rounds as there are ranks, or a cycle asks for more
  // than any shift can give.
  Alignment result;
  result.shift.assign(run.ranks.size(), 0);
  bool changed = true;
  for (std::size_t round = 0; changed && round <= run.ranks.size(); ++round) {
    changed = false;
    for (const auto& [ranks, lag] : least) {
      const std::int64_t needed = result.shift[ranks.first] + lag;
      if (needed <= result.shift[ranks.second]) continue;
      result.shift[ranks.second] = needed;
      changed = true;
      if (needed > kMost) round = run.ranks.size();
    }
  }
  if (changed) {
    result.shift.assign(run.ranks.size(), 0);
    result.consistent = false;
  }
  return result;
}

ChromeSummary write_chrome_trace(const RunTrace& run, std::ostream& out) {
  const Matched matched = match_messages(run);
  const Alignment alignment = align(run, matched);
  const event::Header& header = run.ranks.front().header;

  out << R"({"displayTimeUnit":"ms","traceEvents":[)";
  Writer writer(out);
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    RankWriter(writer, run.ranks[r], alignment.shift[r]).write();
  }
  for (const auto& [send, receive] : matched.messages) {
    const auto& events = run.ranks[receive.rank].events;
    const std::int64_t from = at(run, send).t + alignment.shift[send.rank];
    // Just inside the slice that ends when the message is there.
    const bool instant =
        receive.index == 0 || events[receive.index - 1].t == events[receive.index].t;
    const std::int64_t to =
        events[receive.index].t + alignment.shift[receive.rank] - (instant ? 0 : 1);
    writer.arrow(run.ranks[send.rank].header.rank, from, run.ranks[receive.rank].header.rank,
                 std::max(from, to));
  }
  out << fmt::format(
      "\n],\"otherData\":{{\"run\":{},\"program\":{},\"world_size\":{},\"clock\":{},"
      "\"alignment\":{}}}}}\n",
      json_text(header.run), json_text(header.program), header.world_size, json_text(header.clock),
      json_text(alignment.consistent ? "ranks shifted so that no message arrives before it was sent"
                                     : "none is consistent with every message"));
  return writer.summary;
}

}  // namespace zero
