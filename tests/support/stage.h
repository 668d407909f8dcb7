// Running a stage program on a small model, and what its formulas say for that model.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace zero {

inline const std::array<std::string, 4> kStages = {"ddp", "zero1", "zero2", "zero3"};

// A small GPT and its training. Its 12,362 parameters are divided neither by 3, nor 4, nor 5, so
// that there is padding; 120 sequences are divided by 1 to 6 and 8 ranks.
struct Work {
  int ranks = 3;
  std::string dtype = "fp16";
  std::string collectives = "ring";
  int layers = 2, heads = 2, channels = 14, context = 7, vocab = 256;
  int batch = 120;
  int iterations = 3;
  std::uint64_t seed = 1;         // of the initial weights
  std::vector<std::string> more;  // other options

  // The command line of `stage`, as threads, with --fill-nan and --quiet.
  std::vector<std::string> command(const std::string& stage) const;
};

std::string stage_path(const std::string& stage);  // of the program
std::string source_path(const std::string& name);  // of a file of the project: "stages/ddp.cpp"

// Runs `stage` and returns what it wrote with --json. `launcher` comes before the program: mpirun
// and its options. std::runtime_error with all its output when it fails.
nlohmann::json run_stage(const std::string& stage, const Work& work,
                         const std::vector<std::string>& launcher = {});

// mpirun with `ranks` processes on this machine, whoever runs it and however few cores there are.
std::vector<std::string> mpirun(int ranks);

// The closed forms, written down here once more, from the shape of the model alone.
struct Expected {
  Expected(const std::string& stage, const Work& work);

  std::int64_t num_parameters, padded;
  std::int64_t parameters, gradients, optimizer_states;  // bytes, of every rank
  std::int64_t temporary;                                // bytes: the peak
  std::int64_t largest_unit;                             // bytes, in the training type
  std::int64_t sent;  // bytes per iteration, of every rank; scalars not included
};

// What in a run differs from its formulas, one sentence each: every rank's bytes, live and at their
// peak, of every category that has a formula; every rank's bytes sent in every iteration; and the
// closed form that the program itself names.
std::vector<std::string> check_formulas(const nlohmann::json& result, const std::string& stage,
                                        const Work& work);

// What must be the same in all stages: loss, fingerprint, norm, scale and skipped, per iteration.
nlohmann::json bits(const nlohmann::json& result);

}  // namespace zero
