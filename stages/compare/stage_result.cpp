// What a stage program wrote with --json, read strictly and set against the formulas.
#include "stages/compare/stage_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "common/memory/bytes.h"

namespace zero {
namespace {

using Json = nlohmann::json;

std::optional<double> number_or_null(const Json& json, const char* key) {
  const Json& value = json.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

IterationResult parse_iteration(const Json& json) {
  IterationResult result;
  result.iteration = json.at("iteration").get<std::int64_t>();
  result.loss = number_or_null(json, "loss");
  const Json& fingerprint = json.at("fingerprint");
  if (!fingerprint.is_null()) result.fingerprint = fingerprint.get<std::string>();
  result.gradient_norm = number_or_null(json, "gradient_norm");
  result.loss_scale = json.at("loss_scale").get<double>();
  result.skipped = json.at("skipped").get<bool>();
  return result;
}

RankResult parse_rank(const Json& json) {
  RankResult result;
  result.rank = json.at("rank").get<int>();
  for (const auto& [category, use] : json.at("memory").items()) {
    result.memory[category] = {use.at("live").get<std::int64_t>(),
                               use.at("peak").get<std::int64_t>()};
  }
  for (const char* category : {"parameters", "gradients", "optimizer_states", "activations",
                               "temporary", "communication", "workspace"}) {
    if (!result.memory.contains(category))
      throw std::runtime_error(fmt::format("no memory category \"{}\"", category));
  }
  result.peak_total = json.at("peak_total").get<std::int64_t>();
  const Json& step = json.at("peak_step");
  result.peak_step = step.is_string() ? step.get<std::string>() : step.dump();
  const Json& sent = json.at("sent_bytes_per_iteration");
  if (!sent.is_null()) {
    result.sent = sent.get<std::int64_t>();
    result.sent_least = json.value("sent_bytes_per_iteration_least", *result.sent);
  }
  result.scalars = json.at("scalar_bytes_per_iteration").get<std::int64_t>();
  return result;
}

}  // namespace

int StageResult::skipped() const {
  return static_cast<int>(std::count_if(iterations.begin(), iterations.end(),
                                        [](const IterationResult& i) { return i.skipped; }));
}

StageResult parse_stage_result(const std::string& stage, const Json& json) {
  try {
    StageResult result;
    result.stage = stage;
    result.world_size = json.at("world_size").get<int>();
    result.dtype = json.at("dtype").get<std::string>();
    result.collectives = json.value("collectives", "");
    result.device = json.value("device", "cpu");
    result.num_parameters = json.at("num_parameters").get<std::int64_t>();
    result.padded_parameters = json.at("padded_parameters").get<std::int64_t>();
    result.optimizer_bytes_per_parameter = json.at("optimizer_bytes_per_parameter").get<int>();
    for (const Json& iteration : json.at("iterations"))
      result.iterations.push_back(parse_iteration(iteration));
    for (const Json& rank : json.at("ranks")) result.ranks.push_back(parse_rank(rank));
    const Json& form = json.at("closed_form");
    result.closed_form = {form.at("parameters").get<std::int64_t>(),
                          form.at("gradients").get<std::int64_t>(),
                          form.at("optimizer_states").get<std::int64_t>(),
                          form.at("model_states").get<std::int64_t>(),
                          form.at("sent_bytes_per_iteration").get<std::int64_t>()};
    result.median_seconds = json.at("median_seconds_per_iteration").get<double>();
    if (result.iterations.empty()) throw std::runtime_error("no iterations");
    if (result.world_size < 1 || std::cmp_not_equal(result.ranks.size(), result.world_size)) {
      throw std::runtime_error(fmt::format("{} ranks are listed, world_size is {}",
                                           result.ranks.size(), result.world_size));
    }
    return result;
  } catch (const std::exception& error) {
    throw std::runtime_error(
        fmt::format("the result of {} (--json) is not as expected: {}", stage, error.what()));
  }
}

std::int64_t model_state_bytes(const RankResult& rank, const std::string& name) {
  if (name != "model_states") return rank.memory.at(name).live;
  return rank.memory.at("parameters").live + rank.memory.at("gradients").live +
         rank.memory.at("optimizer_states").live;
}

std::int64_t largest_peak(const StageResult& result, const std::string& category) {
  std::int64_t most = 0;
  for (const RankResult& rank : result.ranks) most = std::max(most, rank.memory.at(category).peak);
  return most;
}

const RankResult& fullest_rank(const StageResult& result) {
  return *std::max_element(
      result.ranks.begin(), result.ranks.end(),
      [](const RankResult& a, const RankResult& b) { return a.peak_total < b.peak_total; });
}

ClosedFormResult closed_form(const StageResult& result) {
  const std::int64_t K = result.world_size;
  const std::int64_t N = (result.num_parameters + K - 1) / K * K;
  const std::int64_t width = result.dtype == "fp32" ? 4 : 2;  // bytes of a parameter
  const std::int64_t M = result.optimizer_bytes_per_parameter;
  const std::int64_t once = width * N / K * (K - 1);  // one pass over N: N (K-1)/K elements
  ClosedFormResult form;
  if (result.stage == "ddp") {
    form = {width * N, width * N, M * N, 0, 2 * once};
  } else if (result.stage == "zero1") {
    form = {width * N, width * N, M * N / K, 0, 2 * once};
  } else if (result.stage == "zero2") {
    form = {width * N, width * N / K, M * N / K, 0, 2 * once};
  } else if (result.stage == "zero3") {
    form = {width * N / K, width * N / K, M * N / K, 0, 3 * once};
  } else {
    return result.closed_form;
  }
  form.model_states = form.parameters + form.gradients + form.optimizer_states;
  return form;
}

std::vector<std::string> formula_errors(const StageResult& result) {
  std::vector<std::string> errors;
  const ClosedFormResult form = closed_form(result);
  const auto expect = [&](int rank, const std::string& what, std::int64_t measured,
                          std::int64_t formula) {
    if (measured == formula) return;
    errors.push_back(fmt::format("{}, rank {}: {} measured {} B, formula {} B",
                                 display_name(result.stage), rank, what, with_commas(measured),
                                 with_commas(formula)));
  };
  for (const RankResult& rank : result.ranks) {
    const auto state = [&](const char* category, const char* name, std::int64_t formula) {
      const MemoryUse& use = rank.memory.at(category);
      expect(rank.rank, name, use.live, formula);
      if (use.live == formula)
        expect(rank.rank, fmt::format("peak of {}", name), use.peak, formula);
    };
    state("parameters", "parameters", form.parameters);
    state("gradients", "gradients", form.gradients);
    state("optimizer_states", "optimizer states", form.optimizer_states);
    if (!rank.sent) continue;
    expect(rank.rank, "bytes sent per iteration", *rank.sent, form.sent);
    if (*rank.sent == form.sent)
      expect(rank.rank, "bytes sent in some iteration", *rank.sent_least, form.sent);
  }
  const int M = result.optimizer_bytes_per_parameter;
  if (result.dtype == "fp32" ? M != 8 : M != 12 && M != 16) {
    errors.push_back(fmt::format("{}: {} optimizer bytes a parameter; with {} they are {}",
                                 display_name(result.stage), M, result.dtype,
                                 result.dtype == "fp32" ? "8" : "12 or 16"));
  }
  if (result.closed_form != form) {
    errors.push_back(fmt::format(
        "{}: its own closed_form is not the formula for {} parameters on "
        "{} ranks",
        display_name(result.stage), with_commas(result.num_parameters), result.world_size));
  }
  return errors;
}

std::string display_name(const std::string& stage) {
  if (stage == "ddp") return "DDP";
  if (stage.size() == 5 && stage.starts_with("zero")) return "ZeRO-" + stage.substr(4);
  return stage;
}

}  // namespace zero
