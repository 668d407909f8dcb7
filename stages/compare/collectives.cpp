// Which collectives give the same bits: the same stage, the same work, another order of addition.
#include "stages/compare/collectives.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <map>

#include "stages/compare/say.h"
#include "stages/compare/table.h"
#include "stages/compare/verdict.h"

namespace zero {
namespace {

using Json = nlohmann::ordered_json;

// The words before a program that start K processes of it on this machine; empty: not available.
std::vector<std::string> mpirun(const ProcessRunner& processes, int K) {
  bool open_mpi = false;
  const Finished version = processes.run({"mpirun", "--version"}, [&](std::string_view line) {
    open_mpi = open_mpi || line.find("Open MPI") != std::string_view::npos;
  });
  if (version.status != 0) return {};
  std::vector<std::string> words = {"mpirun", "-n", std::to_string(K)};
  if (open_mpi) {
    words.push_back("--oversubscribe");  // more ranks than processors is no error here
    if (geteuid() == 0) words.push_back("--allow-run-as-root");
  }
  return words;
}

// "same bits", or from which iteration on they differ and how much that matters in the end.
std::string agreement(const StageRun& a, const StageRun& b) {
  if (!a.result || !b.result) return "not available";
  const auto difference = first_difference(*a.result, *b.result);
  if (!difference) return "same bits";
  std::string text = fmt::format("from iteration {}", difference->iteration);
  const auto &one = a.result->last().loss, &other = b.result->last().loss;
  if (one && other && *one == *other) {
    text += " (same loss)";
  } else if (one && other) {
    text += fmt::format(" ({:+.0e})", (*other - *one) / std::abs(*one));
  }
  return text;
}

// The runs of one K, by collective.
std::map<std::string, StageRun> run_all(const CompareOptions& options,
                                        const ProcessRunner& processes, const StageRunner& runner,
                                        int K) {
  std::map<std::string, StageRun> runs;
  for (const std::string collectives : {"ring", "direct", "library"}) {
    auto arguments = with_option(options.passed_on, "--collectives", collectives);
    arguments = with_option(arguments, "--ranks", std::to_string(K));
    auto launcher = launcher_with_ranks(options, K).value_or(std::vector<std::string>{});
    // On GPUs threads have NCCL's; where the ranks compute, ring has said.
    const bool mpi_needed = launcher.empty() && collectives == "library" &&
                            (!runs["ring"].result || runs["ring"].result->device == "cpu");
    if (mpi_needed) launcher = mpirun(processes, K);
    StageRun& run = runs[collectives];
    if (mpi_needed && launcher.empty()) {
      run.errors = "there is no mpirun here";
      continue;
    }
    run = runner.run(options.stages.front(), launcher, arguments,
                     fmt::format("{} on {} ranks", collectives, K));
  }
  return runs;
}

}  // namespace

int show_collectives(const CompareOptions& options, const ProcessRunner& processes,
                     const StageRunner& runner, Json& json) {
  constexpr std::array<std::array<const char*, 2>, 3> kPairs = {
      {{"ring", "direct"}, {"ring", "library"}, {"direct", "library"}}};
  const std::string stage = display_name(options.stages.front());
  Table table({"ring, direct", "ring, library", "direct, library"});
  table.group("ranks");
  std::string reason;  // why library is not available
  std::string device;
  bool skips_differ = false, fp16_library = false;
  json = Json::array();
  for (const int K : {2, 3, 4}) {
    const auto runs = run_all(options, processes, runner, K);
    for (const auto& [collectives, run] : runs) {
      if (run.result) continue;
      if (collectives == "library") {
        reason = run.errors;
        continue;
      }
      say(stderr, "{}", describe_failure(run));
      return run.status == 2 ? 2 : 1;
    }
    std::vector<std::string> cells;
    Json row = {{"ranks", K}};
    for (const auto& [one, other] : kPairs) {
      const StageRun &a = runs.at(one), &b = runs.at(other);
      cells.push_back(agreement(a, b));
      Json same;  // null: not available
      if (a.result && b.result) same = !first_difference(*a.result, *b.result);
      row[fmt::format("{}_{}", one, other)] = same;
    }
    for (const auto& [collectives, run] : runs) {
      if (!run.result) continue;
      device = run.result->on_device();
      fp16_library = fp16_library || (collectives == "library" && run.result->dtype == "fp16");
      skips_differ = skips_differ || run.result->skipped() != runs.at("ring").result->skipped();
      row["fingerprints"][collectives] = run.result->last().fingerprint;
    }
    table.row(std::to_string(K), cells);
    json.push_back(row);
  }
  say(stdout, "{}\n\n{}\n",
      wrap(fmt::format("Which collectives give the same bits? {}{}, every iteration compared; "
                       "else the first that differs, and how far the final losses are "
                       "apart (relative).",
                       stage, device),
           options.width),
      table.text(options.width));
  std::vector<std::string> notes = {
      "ring adds in the order of the ring, and rounds each partial sum to the wire type; direct "
      "adds "
      "in the order of the ranks, in fp32; library adds as it likes.",
      fmt::format(
          "With 2 ranks there is one addition, and a + b = b + a{}; from 3 on (a + b) + c is "
          "not a + (b + c).",
          fp16_library ? " (in fp16 library may still differ: it divides after the sum is "
                         "rounded, and skips where that overflows)"
                       : "")};
  if (skips_differ) {
    notes.push_back(
        "Some skipped more iterations than others: in fp16 a sum can overflow before it is divided "
        "by the number of ranks (library), or halfway (ring), where direct, in fp32, does not.");
  }
  for (const std::string& note : notes) say(stdout, "- {}\n", wrap(note, options.width - 2, 2));
  if (!reason.empty()) {
    while (reason.ends_with('\n')) reason.pop_back();
    say(stdout, "- library is not available: {}\n", reason);
  }
  return 0;
}

}  // namespace zero
