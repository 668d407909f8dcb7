// The rung traffic: what each rank sent in each iteration, and in which collectives.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "common/memory/bytes.h"
#include "exercises/judge/judge.h"
#include "exercises/judge/walk.h"
#include "tests/support/ground_truth.h"

namespace zero::judge {
namespace {

// What one rank sent in one iteration.
struct Sent {
  std::int64_t bytes = 0;
  struct Row {
    std::int64_t collectives = 0, elements = 0, bytes = 0;
  };
  std::map<std::tuple<int, std::string>, Row> rows;  // by step and collective

  std::string table() const {
    std::string text;
    for (const auto& [key, row] : rows) {
      const auto& [step, name] = key;
      text += fmt::format("\n  step {}  {:<14} {:>3} x, {:>7} elements in all: {:>10}", step, name,
                          row.collectives, with_commas(row.elements), format_bytes(row.bytes));
    }
    return text.empty() ? "\n  no collective" : text;
  }
};

std::vector<Sent> sent_by(const RankTrace& trace) {
  std::vector<Sent> iterations;
  Sent now;
  std::string name;  // of the collective under way
  Walk walk(trace);
  while (const TraceEvent* event = walk.next()) {
    if (const auto* begin = std::get_if<event::CollectiveBegin>(&event->what)) {
      if (walk.step().iteration < 0) continue;
      name = shown(begin->name);
      Sent::Row& row = now.rows[{walk.step().number, name}];
      ++row.collectives;
      row.elements += begin->range.size();
    }
    if (const auto* send = std::get_if<event::Send>(&event->what)) {
      if (walk.step().iteration >= 0) now.rows[{walk.step().number, name}].bytes += send->bytes;
    }
    if (std::holds_alternative<event::Iteration>(event->what)) {
      now.bytes = walk.sent();
      iterations.push_back(std::exchange(now, Sent{}));
    }
  }
  return iterations;
}

// Numbers that ranks tell each other are few: not a way for what the tensors hold.
std::int64_t most_scalars(const Request& request, const Expected& expected) {
  return bytes_of(dtype_of(request.work)) * expected.padded / 2;
}

std::optional<Finding> check_scalars(const Request& request, const Expected& expected,
                                     const Run& run) {
  if (request.diverged) return std::nullopt;
  const std::int64_t most = most_scalars(request, expected);
  for (const auto& rank : run.result.at("ranks")) {
    const std::int64_t scalars = rank.at("scalar_bytes_per_iteration");
    if (scalars <= most) continue;
    return Finding{
        "traffic",
        fmt::format("rank {}: {} of scalars sent in an iteration; expected: a few "
                    "numbers, less than {}",
                    rank.at("rank").get<int>(), format_bytes(scalars), format_bytes(most)),
        "what goes through all_gather_scalar: it is for single numbers"};
  }
  return std::nullopt;
}

}  // namespace

Findings check_traffic(const Request& request, const Run& run) {
  const Expected expected(request.stage, request.work);
  const int passes = request.stage == "zero3" ? 3 : 2;
  const std::string formula_text =
      fmt::format("{}N(K-1)/K elements of {} B = {} ({})", passes, bytes_of(dtype_of(request.work)),
                  format_bytes(expected.sent), sizes(request));
  Findings findings;
  std::vector<int> others;
  for (const RankTrace& trace : run.traces) {
    const int rank = trace.header.rank;
    const std::vector<Sent> iterations = sent_by(trace);
    for (std::size_t i = 0; i < iterations.size(); ++i) {
      const Sent& sent = iterations[i];
      // Where nothing is to be updated, parameters that nobody changed need not be sent.
      const bool skips = i < run.truth.skipped.size() && run.truth.skipped[i];
      if (sent.bytes == expected.sent || (skips && sent.bytes < expected.sent)) continue;
      if (findings.empty()) {
        const bool more = sent.bytes > expected.sent;
        findings.push_back(
            {"traffic",
             fmt::format("rank {}: {} sent in iteration {}; expected: {}{}", rank,
                         format_bytes(sent.bytes), i + 1, formula_text, sent.table()),
             more
                 ? "each line above: does every rank need all of what it moves, and once only?"
                 : "what each rank must hold after each step, and whether a line above brings it"});
      } else {
        others.push_back(rank);
      }
      break;
    }
  }
  if (!others.empty()) findings[0].text += "\nNot as expected on " + ranks_text(others) + ", too.";

  if (const auto scalars = check_scalars(request, expected, run)) findings.push_back(*scalars);
  const std::int64_t claimed = run.claims.at("sent_bytes_per_iteration");
  if (claimed != expected.sent) {
    findings.push_back({"traffic",
                        fmt::format("the program claims to send {} in an iteration; {} sends {}",
                                    format_bytes(claimed), title(request.stage), formula_text),
                        "passes in kClosedForm at the top of the file"});
  }
  return findings;
}

}  // namespace zero::judge
