// Running a stage program on a small model, and what its formulas say for that model.
#include "tests/support/stage.h"

#include <algorithm>
#include <stdexcept>

#include "tests/support/files.h"

namespace zero {

std::vector<std::string> Work::command(const std::string& stage) const {
  std::vector<std::string> words = {stage_path(stage),
                                    "--ranks",
                                    std::to_string(ranks),
                                    "--dtype",
                                    dtype,
                                    "--collectives",
                                    collectives,
                                    "--layers",
                                    std::to_string(layers),
                                    "--heads",
                                    std::to_string(heads),
                                    "--channels",
                                    std::to_string(channels),
                                    "--context",
                                    std::to_string(context),
                                    "--vocab",
                                    std::to_string(vocab),
                                    "--batch",
                                    std::to_string(batch),
                                    "--iterations",
                                    std::to_string(iterations),
                                    "--seed",
                                    std::to_string(seed),
                                    "--timeout",
                                    "50",
                                    "--fill-nan",
                                    "--quiet"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Both folders come from CMake.
std::string stage_path(const std::string& stage) { return ZERO_STAGES_FOLDER "/" + stage; }
std::string source_path(const std::string& name) { return ZERO_SOURCE_FOLDER "/" + name; }

nlohmann::json run_stage(const std::string& stage, const Work& work,
                         const std::vector<std::string>& launcher) {
  const TemporaryFolder folder;
  std::vector<std::string> words = launcher;
  const std::vector<std::string> program = work.command(stage);
  words.insert(words.end(), program.begin(), program.end());
  words.insert(words.end(), {"--json", folder / "result.json"});
  const Finished finished = run(words);
  if (finished.status != 0) throw std::runtime_error(finished.describe());
  return nlohmann::json::parse(read_whole_file(folder / "result.json"));
}

std::vector<std::string> mpirun(int ranks) {
  return {"env",
          "OMPI_ALLOW_RUN_AS_ROOT=1",
          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
          "OMPI_MCA_rmaps_base_oversubscribe=1",
          "OMPI_MCA_hwloc_base_binding_policy=none",
          "OMPI_MCA_btl_vader_single_copy_mechanism=none",
          "mpirun",
          "-n",
          std::to_string(ranks)};
}

Expected::Expected(const std::string& stage, const Work& work) {
  const std::int64_t K = work.ranks, L = work.layers, C = work.channels, T = work.context,
                     V = work.vocab;
  const std::int64_t embedding = (V + T) * C;
  // Two layernorms of 2C; qkv 3C*C + 3C, projection C*C + C, up 4C*C + 4C, down 4C*C + C.
  const std::int64_t block = 4 * C + 12 * C * C + 9 * C;
  const std::int64_t head = 2 * C + V * C;
  num_parameters = embedding + L * block + head;
  padded = num_parameters;
  while (padded % K != 0) ++padded;
  const std::int64_t shard = padded / K;
  const std::int64_t most = std::max({embedding, block, head + padded - num_parameters});

  const bool fp32_grads =
      std::find(work.more.begin(), work.more.end(), "--fp32-grads") != work.more.end();
  const std::int64_t width = work.dtype == "fp32" ? 4 : 2;
  const std::int64_t M = work.dtype == "fp32" ? 8 : fp32_grads ? 16 : 12;
  const auto number = std::find(kStages.begin(), kStages.end(), stage) - kStages.begin();
  optimizer_states = M * (number >= 1 ? shard : padded);
  gradients = width * (number >= 2 ? shard : padded);
  parameters = width * (number >= 3 ? shard : padded);
  largest_unit = width * most;
  temporary = number < 2 ? 0 : number == 2 ? largest_unit : 2 * largest_unit;
  sent = width * (number < 3 ? 2 : 3) * shard * (K - 1);
}

std::vector<std::string> check_formulas(const nlohmann::json& result, const std::string& stage,
                                        const Work& work) {
  const Expected expected(stage, work);
  std::vector<std::string> wrong;
  const auto equal = [&](const std::string& what, const nlohmann::json& measured,
                         std::int64_t formula) {
    if (measured == formula) return;
    wrong.push_back(what + ": " + measured.dump() + ", expected " + std::to_string(formula));
  };
  const std::int64_t states = expected.parameters + expected.gradients + expected.optimizer_states;

  const nlohmann::json& form = result.at("closed_form");
  equal("world_size", result.at("world_size"), work.ranks);
  equal("num_parameters", result.at("num_parameters"), expected.num_parameters);
  equal("padded_parameters", result.at("padded_parameters"), expected.padded);
  equal("closed form of parameters", form.at("parameters"), expected.parameters);
  equal("closed form of gradients", form.at("gradients"), expected.gradients);
  equal("closed form of optimizer_states", form.at("optimizer_states"), expected.optimizer_states);
  equal("closed form of model_states", form.at("model_states"), states);
  equal("closed form of sent", form.at("sent_bytes_per_iteration"), expected.sent);
  equal("number of ranks", result.at("ranks").size(), work.ranks);

  for (const nlohmann::json& rank : result.at("ranks")) {
    const std::string name = "rank " + rank.at("rank").dump() + ", ";
    const auto category = [&](const std::string& of, std::int64_t live, std::int64_t peak) {
      equal(name + of + " live", rank.at("memory").at(of).at("live"), live);
      equal(name + of + " peak", rank.at("memory").at(of).at("peak"), peak);
    };
    category("parameters", expected.parameters, expected.parameters);
    category("gradients", expected.gradients, expected.gradients);
    category("optimizer_states", expected.optimizer_states, expected.optimizer_states);
    category("temporary", 0, expected.temporary);
    equal(name + "activations live", rank.at("memory").at("activations").at("live"), 0);
    if (rank.at("peak_total").get<std::int64_t>() < states + expected.temporary)
      wrong.push_back(name + "peak of all together: less than its parts");
    if (work.collectives == "library") continue;  // not measured
    equal(name + "sent, the most", rank.at("sent_bytes_per_iteration"), expected.sent);
    equal(name + "sent, the least", rank.at("sent_bytes_per_iteration_least"), expected.sent);
  }
  return wrong;
}

nlohmann::json bits(const nlohmann::json& result) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& iteration : result.at("iterations")) {
    list.push_back({{"iteration", iteration.at("iteration")},
                    {"loss", iteration.at("loss")},
                    {"fingerprint", iteration.at("fingerprint")},
                    {"gradient_norm", iteration.at("gradient_norm")},
                    {"loss_scale", iteration.at("loss_scale")},
                    {"skipped", iteration.at("skipped")}});
  }
  return list;
}

}  // namespace zero
