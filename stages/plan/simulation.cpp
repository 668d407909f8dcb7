// Runs a stage program on simulated GPUs and reads its result strictly.
#include "stages/plan/simulation.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "stages/compare/options.h"

namespace zero {
namespace {

// Of a GPU on which everything fits.
constexpr const char* kEnough = "1000000TB";

SimulatedRun read_result(const std::string& file, const std::string& stage) {
  try {
    std::ifstream in(file);
    if (!in) throw std::runtime_error("it wrote none");
    const nlohmann::json json = nlohmann::json::parse(in);
    const nlohmann::json& rank = json.at("ranks").at(0);
    const nlohmann::json& memory = rank.at("memory");
    const nlohmann::json& simulated = json.at("simulated");
    SimulatedRun run;
    run.num_parameters = json.at("num_parameters");
    run.parameters = memory.at("parameters").at("peak");
    run.gradients = memory.at("gradients").at("peak");
    run.optimizer_states = memory.at("optimizer_states").at("peak");
    run.activations = memory.at("activations").at("peak");
    run.temporary = memory.at("temporary").at("peak");
    run.communication = memory.at("communication").at("peak");
    run.workspace = memory.at("workspace").at("peak");
    run.total = rank.at("peak_total");
    run.peak_step = rank.at("peak_step");
    run.sent = rank.at("sent_bytes_per_iteration");
    run.seconds = simulated.at("seconds_per_iteration");
    run.computing = simulated.at("computing_seconds");
    run.communicating = simulated.at("communicating_seconds");
    run.product_flops = simulated.at("product_flops");
    return run;
  } catch (const std::exception& error) {
    throw std::runtime_error(
        fmt::format("the result of {} (--json) is not as expected: {}", stage, error.what()));
  }
}

}  // namespace

std::vector<std::string> Simulator::arguments(const Trial& trial) const {
  std::vector<std::string> words = options_.passed_on;
  words.insert(words.begin(), {"--device", "simulated", "--representative"});
  words = with_option(words, "--ranks", std::to_string(trial.gpus));
  words = with_option(words, "--batch", std::to_string(std::int64_t{trial.batch} * trial.gpus));
  words = with_option(words, "--layers", std::to_string(trial.layers));
  words = with_option(words, "--gpu-memory",
                      trial.memory > 0 ? std::to_string(trial.memory) + "B" : kEnough);
  words = with_option(words, "--iterations", "1");
  words.push_back("--quiet");
  return words;
}

const SimulatedRun& Simulator::run(const Trial& trial) const {
  std::vector<std::string> command = {
      (std::filesystem::path(options_.programs) / trial.stage).string()};
  const std::vector<std::string> words = arguments(trial);
  command.insert(command.end(), words.begin(), words.end());
  if (const auto known = known_.find(command); known != known_.end()) return known->second;

  const std::string file = (folder_.path() / (trial.stage + ".json")).string();
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  std::vector<std::string> with_result = command;
  with_result.insert(with_result.end(), {"--json", file});
  const Finished finished = processes_.run(with_result, [](std::string_view) {});
  SimulatedRun run;
  if (finished.status == 0) {
    run = read_result(file, trial.stage);
  } else if (finished.status == 2) {
    // A command line that it does not take is told under its own name.
    run.fate = finished.errors.starts_with(trial.stage + ": ") ? Fate::refused : Fate::too_small;
    run.errors = finished.errors;
  } else {
    throw std::runtime_error(fmt::format("{} failed (exit status {}):\n{}to see it alone: {}",
                                         trial.stage, finished.status, finished.errors,
                                         as_typed(command)));
  }
  run.command = command;
  return known_.emplace(command, run).first->second;
}

}  // namespace zero
