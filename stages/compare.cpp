// Runs several stages on the same work and prints, side by side, what each held, sent and computed.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "common/comm/world.h"
#include "common/memory/bytes.h"
#include "common/train/options.h"
#include "common/train/report.h"
#include "stages/compare/batch_sweep.h"
#include "stages/compare/collectives.h"
#include "stages/compare/comparison.h"
#include "stages/compare/say.h"
#include "stages/compare/table.h"
#include "stages/compare/verdict.h"

namespace zero {
namespace {

using Json = nlohmann::ordered_json;

// Every stage, one after the other; those that fail too.
std::vector<StageRun> run_stages(const CompareOptions& options, const StageRunner& runner) {
  std::vector<StageRun> runs;
  for (const std::string& stage : options.stages) {
    auto arguments = options.passed_on;
    if (!options.traces.empty()) {
      const auto folder = std::filesystem::path(options.traces) / stage;
      arguments = with_option(arguments, "--trace", folder.string());
    }
    runs.push_back(runner.run(stage, options.launcher, arguments, stage));
  }
  return runs;
}

// Status 2 of all stages: a command line that none can use, which is told once, in the first
// stage's words and under its name; or a device that is too small for each, with other numbers.
bool all_refused(const std::vector<StageRun>& runs) {
  bool by_command_line = true;
  for (const StageRun& run : runs) {
    if (run.status != 2) return false;
    by_command_line = by_command_line && run.errors.starts_with(run.stage + ": ");
  }
  if (by_command_line) {
    say(stderr, "{}", runs.front().errors);
  } else {
    for (const StageRun& run : runs) say(stderr, "{}", describe_failure(run));
  }
  return true;
}

// Whether the transport counted what each rank of each stage sent.
bool traffic_measured(const std::vector<StageResult>& results) {
  for (const StageResult& result : results) {
    for (const RankResult& rank : result.ranks) {
      if (!rank.sent) return false;
    }
  }
  return true;
}

// Says where the bits differ first, down to the element.
void explain(const ValueDifference& difference, const StageRunner& runner,
             const CompareOptions& options, Json& json) {
  const std::string names[] = {display_name(difference.stages[0]),
                               display_name(difference.stages[1])};
  const std::size_t width = std::max(names[0].size(), names[1].size());
  json = {{"stages", {difference.stages[0], difference.stages[1]}},
          {"iteration", difference.iteration},
          {"what", difference.what},
          {"values", {difference.values[0], difference.values[1]}},
          {"elements", Json::array()}};
  if (difference.iteration == 0) {
    say(stdout, "  they have not done the same work:\n");
  } else {
    say(stdout, "  first in iteration {}: {}\n", difference.iteration, difference.what);
  }
  for (int i = 0; i < 2; ++i)
    say(stdout, "    {:<{}}  {}\n", names[i], width, difference.values[i]);
  if (difference.iteration == 0) return;
  if (!difference.state_differs) {
    say(stdout, "  after that iteration both hold the same parameters and optimizer states\n");
    return;
  }
  std::fflush(stdout);
  std::vector<DifferingElement> elements;
  try {
    elements = find_elements(difference, runner, options);
  } catch (const std::runtime_error& error) {
    say(stdout, "  which element cannot be said: {}\n", error.what());
    return;
  }
  if (elements.empty()) {
    say(stdout,
        "  run again up to there, both hold the same state: one of them does not compute "
        "the same\n  bits each time it runs (a race?)\n");
  }
  for (const DifferingElement& element : elements) {
    say(stdout, "  {}: {} element{} differ{}, the first is {} (position {})\n", element.state,
        with_commas(element.count), element.count == 1 ? "" : "s", element.count == 1 ? "s" : "",
        element_name(element), with_commas(element.position));
    for (int i = 0; i < 2; ++i) {
      say(stdout, "    {:<{}}  {}, on rank {}\n", names[i], width, element.values[i],
          element.ranks[i]);
    }
    json["elements"].push_back({{"state", element.state},
                                {"tensor", element.tensor},
                                {"index", element.index},
                                {"position", element.position},
                                {"values", {element.values[0], element.values[1]}},
                                {"count", element.count}});
  }
}

// Prints all that is to be said about runs of the same work; returns the exit status.
int compare_stages(const CompareOptions& options, const StageRunner& runner, Json& json) {
  const std::vector<StageRun> runs = run_stages(options, runner);
  if (all_refused(runs)) return 2;
  std::vector<StageResult> results;
  std::string failures, failed;
  json["stages"] = Json::array();
  for (const StageRun& run : runs) {
    json["stages"].push_back({{"stage", run.stage},
                              {"command", run.command},
                              {"status", run.status},
                              {"errors", run.errors},
                              {"result", run.json}});
    if (run.result) {
      results.push_back(*run.result);
      continue;
    }
    failures += describe_failure(run);
    failed += (failed.empty() ? "" : ", ") + display_name(run.stage);
  }
  json["same_bits"] = nullptr;
  json["measured_equals_formula"] = nullptr;
  if (results.empty()) {
    say(stderr, "{}", failures);
    return 1;
  }
  const auto difference = first_difference(results);
  if (!difference || difference->iteration > 0) {
    say(stdout, "{}\n{}{}\n", comparison_table(results, options.width),
        what_it_means(results, options.width), skipped_iterations(results, options.width));
  }
  std::vector<std::string> wrong;
  for (const StageResult& result : results) {
    const auto errors = formula_errors(result);
    wrong.insert(wrong.end(), errors.begin(), errors.end());
  }
  json["measured_equals_formula"] = wrong.empty();
  json["formula_errors"] = wrong;
  const char* yes = traffic_measured(results) ? "yes" : "yes (memory; traffic was not measured)";
  const bool simulated = results.front().simulated();
  say(stdout, "{} = formula: {}\n", simulated ? "simulated" : "measured",
      wrong.empty() ? yes : "no");
  for (const std::string& error : wrong) say(stdout, "  {}\n", wrap(error, options.width - 2, 4));
  if (difference) {
    json["same_bits"] = false;
    say(stdout, "same bits: no\n");
    explain(*difference, runner, options, json["first_difference"]);
  } else if (simulated) {
    say(stdout, "same bits: a simulation has none\n");
  } else if (failed.empty()) {
    json["same_bits"] = true;
    say(stdout, "same bits: yes\n");
  } else {
    say(stdout, "same bits: incomplete ({} failed)\n", failed);
  }
  std::fflush(stdout);
  say(stderr, "{}", failures);
  return wrong.empty() && !difference && failed.empty() ? 0 : 1;
}

int run(const CompareOptions& options) {
  if (under_mpi()) {
    throw UsageError(
        "compare starts the ranks itself; instead of mpirun -n 4 compare, use compare "
        "--launcher \"mpirun -n 4\"");
  }
  const ProcessRunner processes;
  const StageRunner runner(options, processes);
  Json json = {{"program", "compare"}, {"passed_on", options.passed_on}};
  int status = 0;
  if (options.collectives_agree)
    status = show_collectives(options, processes, runner, json["collectives_agree"]);
  if (options.batch_sweep && status == 0)
    status = show_batch_sweep(options, runner, json["batch_sweep"]);
  if (!options.collectives_agree && !options.batch_sweep)
    status = compare_stages(options, runner, json);
  if (!options.json.empty() && status != 2) {
    write_file(options.json, json.dump(2) + "\n");
  }
  return status;
}

// A pipe or a file opened later must not become standard output or error because that was closed.
// What stands in its place cannot be written to.
void hold_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDONLY);
  }
}

int run_and_report(int argc, char** argv) {
  try {
    const ParsedCompare parsed = parse_compare_options(argc, argv);
    return parsed.stop ? 0 : run(parsed.options);
  } catch (const UsageError& error) {
    say(stderr, "compare: {}\n", error.what());
    return 2;
  } catch (const Interrupted& interrupted) {
    // Nobody reads on after SIGPIPE.
    if (interrupted.signal != SIGPIPE) say(stderr, "compare: interrupted\n");
    return 128 + interrupted.signal;
  } catch (const std::exception& error) {
    say(stderr, "compare: {}\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  zero::hold_standard_streams();
  const int status = zero::run_and_report(argc, argv);
  // What was not written was not done: a full disk must not look like success.
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  zero::say(stderr, "compare: cannot write to standard output\n");
  return status == 0 ? 1 : status;
}
