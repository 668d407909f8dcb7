// Runs a program that claims to be a stage, and says whether the checks notice that it is not:
//
//   mutation_check zero2 notices PROGRAM    status 0 when something is wrong with PROGRAM
//   mutation_check zero2 passes PROGRAM     status 0 when nothing is
#include <cstdio>
#include <exception>

#include "tests/support/files.h"
#include "tests/support/ground_truth.h"

namespace zero {
namespace {

struct Case {
  Work work;
  int loss_scale;
};

// Three and five ranks, both orders, padding, an overflow of one rank, one of a few elements.
std::vector<Case> cases() {
  Work plain;
  plain.batch = 6;
  Work direct;
  direct.ranks = 5;
  direct.batch = 10;
  direct.dtype = "bf16";
  direct.collectives = "direct";
  Work overflow = direct;
  overflow.dtype = "fp16";
  overflow.more = {"--overflow-at", "1:1"};
  Work settling = plain;
  settling.layers = 1;
  settling.iterations = 12;
  return {{plain, 65536}, {direct, 65536}, {overflow, 65536}, {settling, 1 << 24}};
}

// What is wrong with one run of `program`; empty when nothing is.
std::string problem(const std::string& program, const std::string& stage, const Case& chosen) {
  const TemporaryFolder folder;
  std::vector<std::string> command = chosen.work.command(stage);
  command[0] = program;
  command.insert(command.end(), {"--json", folder / "json", "--dump-state", folder / "state",
                                 "--loss-scale", std::to_string(chosen.loss_scale)});
  command.insert(command.end(), kTruthOptions.begin(), kTruthOptions.end());
  const Finished finished = run(command, {.seconds = 30, .directory = {}, .environment = {}});
  if (finished.timed_out) return "it did not end";
  if (finished.status != 0) {
    return finished.errors().empty() ? "status " + std::to_string(finished.status)
                                     : finished.errors()[0];
  }
  const auto result = nlohmann::json::parse(read_whole_file(folder / "json"));
  const auto formulas = check_formulas(result, stage, chosen.work);
  if (!formulas.empty()) return formulas[0];
  const auto truth = check_against_truth(result, chosen.work, chosen.loss_scale, folder / "state");
  return truth.empty() ? "" : truth[0];
}

int check(const std::string& stage, bool should_notice, const std::string& program) {
  for (const Case& chosen : cases()) {
    const std::string found = problem(program, stage, chosen);
    if (found.empty()) continue;
    std::printf("noticed: %s\n", found.c_str());
    return should_notice ? 0 : 1;
  }
  std::printf("nothing is wrong with it\n");
  return should_notice ? 1 : 0;
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    return zero::check(argv[1], std::string(argv[2]) == "notices", argv[3]);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 2;
  }
}
