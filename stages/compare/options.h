// compare's own options, and those that it passes on to the stages.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace zero {

struct CompareOptions {
  std::vector<std::string> stages = {"ddp", "zero1", "zero2", "zero3"};
  bool collectives_agree = false;
  bool batch_sweep = false;
  std::string traces, json;           // empty: not written
  std::vector<std::string> launcher;  // the words before each stage program; may be none
  std::string programs;               // the folder of the stage programs
  int width = 100;                    // characters in a line
  bool quiet = false;
  std::vector<std::string> passed_on;  // to each stage
};

struct ParsedCompare {
  CompareOptions options;
  bool stop = false;  // after --help
};

// Throws UsageError. Checks what can be known before a stage is run.
ParsedCompare parse_compare_options(int argc, const char* const* argv);

// `arguments` without option `name`, and then with it: `--name value`.
std::vector<std::string> with_option(const std::vector<std::string>& arguments,
                                     const std::string& name, const std::string& value);

// The value of `--name value` or `--name=value`; the last one counts.
std::optional<std::string> option_value(const std::vector<std::string>& arguments,
                                        const std::string& name);

// How many ranks the stages will have: from the launcher's -n, or --ranks, or the default. Nothing
// when a launcher does not say.
std::optional<int> ranks_asked(const CompareOptions& options);

// The launcher with K processes; nothing when it does not say how many there are.
std::optional<std::vector<std::string>> launcher_with_ranks(const CompareOptions& options, int K);

}  // namespace zero
