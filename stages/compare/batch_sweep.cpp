// Each stage's memory for several batches.
#include "stages/compare/batch_sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/memory/bytes.h"
#include "common/train/options.h"
#include "stages/compare/say.h"
#include "stages/compare/table.h"

namespace zero {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t largest_states(const StageResult& result) {
  std::int64_t most = 0;
  for (const RankResult& rank : result.ranks)
    most = std::max(most, model_state_bytes(rank, "model_states"));
  return most;
}

void add_rows(Table& table, const std::vector<StageResult>& results) {
  std::vector<std::string> states, activations, total;
  for (const StageResult& result : results) {
    states.push_back(with_commas(largest_states(result)));
    activations.push_back(with_commas(largest_peak(result, "activations")));
    total.push_back(with_commas(fullest_rank(result).peak_total));
  }
  table.row("model states", states);
  table.row("activations, peak", activations);
  table.row("everything, peak", total);
}

}  // namespace

int show_batch_sweep(const CompareOptions& options, const StageRunner& runner, Json& json) {
  const auto ranks = ranks_asked(options);
  if (!ranks || *ranks < 1) {
    throw UsageError(
        "--batch-sweep: how many ranks? say it as --ranks K, or as -n K in the --launcher");
  }
  const std::vector<int> sequences = {1, 2, 4, 8};
  std::vector<std::string> columns;
  for (const int n : sequences) columns.push_back(std::to_string(n));
  Table table(columns);
  table.group("sequences per rank:");
  std::vector<std::string> moved;
  std::string device;
  json = Json::array();
  for (const std::string& stage : options.stages) {
    std::vector<StageResult> results;
    for (const int n : sequences) {
      auto arguments = with_option(options.passed_on, "--batch", std::to_string(n * *ranks));
      arguments = with_option(arguments, "--iterations", "1");
      const StageRun run =
          runner.run(stage, options.launcher, arguments, fmt::format("{}, {} per rank", stage, n));
      if (!run.result) {
        say(stderr, "{}", describe_failure(run));
        return run.status == 2 ? 2 : 1;
      }
      results.push_back(*run.result);
      device = run.result->on_device();
      json.push_back({{"stage", stage},
                      {"sequences_per_rank", n},
                      {"model_states", largest_states(*run.result)},
                      {"activations_peak", largest_peak(*run.result, "activations")},
                      {"peak_total", fullest_rank(*run.result).peak_total}});
    }
    table.group(display_name(stage));
    add_rows(table, results);
    const bool moves = std::any_of(results.begin(), results.end(), [&](const StageResult& r) {
      return largest_states(r) != largest_states(results.front());
    });
    if (moves) moved.push_back(display_name(stage));
  }
  say(stdout, "Memory per rank as the batch grows, in bytes, {} rank{}{}\n\n{}\n", *ranks,
      *ranks == 1 ? "" : "s", device, table.text(options.width));
  say(stdout, "- {}\n",
      wrap("Each stage divides the model states, and only these: from some batch "
           "on it is the activations that fill the memory.",
           options.width - 2, 2));
  say(stdout, "model states stay as the batch grows: {}\n",
      moved.empty() ? "yes" : fmt::format("no ({})", fmt::join(moved, ", ")));
  return moved.empty() ? 0 : 1;
}

}  // namespace zero
