// Model states by the formulas alone.
#include "stages/plan/states.h"

#include <fmt/format.h>

#include "common/memory/bytes.h"
#include "stages/compare/stage_result.h"
#include "stages/plan/advice.h"
#include "stages/plan/describe.h"
#include "stages/plan/formulas.h"
#include "stages/plan/units.h"

namespace zero {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t state_bytes(const PlanOptions& options, const std::string& stage,
                         std::int64_t parameters, int gpus) {
  return evaluate(find_planned_stage(stage)->form, parameters, gpus, options.understood.dtype,
                  options.optimizer_bytes)
      .model_states;
}

std::int64_t largest_model(const PlanOptions& options, const std::string& stage, int gpus) {
  return largest_by_states(find_planned_stage(stage)->form, options.gpu().memory, gpus,
                           options.understood.dtype, options.optimizer_bytes);
}

void add_states(PageTable& table, const PlanOptions& options, std::int64_t parameters) {
  table.group(fmt::format("{} parameters", parameters_text(parameters)));
  for (const int gpus : options.gpus) {
    std::vector<std::string> cells;
    for (const std::string& stage : options.stages) {
      const std::int64_t bytes = state_bytes(options, stage, parameters, gpus);
      cells.push_back((bytes <= options.gpu().memory ? "* " : "") + gigabytes(bytes));
    }
    table.row(gpus_text(gpus), cells);
  }
}

void add_largest(PageTable& table, const PlanOptions& options) {
  table.group(fmt::format("most in {}", decimal_bytes(options.gpu().memory)));
  for (const int gpus : options.gpus) {
    std::vector<std::string> cells;
    for (const std::string& stage : options.stages)
      cells.push_back(parameters_text(largest_model(options, stage, gpus)));
    table.row(gpus_text(gpus), cells);
  }
}

}  // namespace

std::vector<std::int64_t> planned_parameters(const PlanOptions& options) {
  if (!options.parameters.empty()) return options.parameters;
  return {count_parameters(options.understood.model)};
}

Page describe_states(const PlanOptions& options) {
  Page page;
  if (options.parameters.empty()) {
    describe_work(options, page);
  } else {
    page.heading(fmt::format("Model states on each GPU, {}, M = {}",
                             to_string(options.understood.dtype), options.optimizer_bytes));
  }
  PageTable table;
  for (const std::string& stage : options.stages) table.columns.push_back(display_name(stage));
  for (const std::int64_t parameters : planned_parameters(options))
    add_states(table, options, parameters);
  add_largest(table, options);
  page.table(table);
  page.item(fmt::format(
      "* fits into the {} of {}, if there were nothing else: activations, temporary buffers and "
      "communication come on top{}.",
      decimal_bytes(options.gpu().memory), options.gpu().name,
      options.parameters.empty() ? "" : ", which --model shows"));
  const std::int64_t w = bytes_of(options.understood.dtype);
  page.item(fmt::format(
      "The formulas, in bytes, of N parameters on K GPUs: DDP {0} N + M N; ZeRO-1 {0} N + M N / K; "
      "ZeRO-2 {1} N + ({1} + M) N / K; ZeRO-3 ({0} + M) N / K (ZeRO paper, section 5). N is padded "
      "to a multiple of K.",
      2 * w, w));
  page.item(
      "Sent by each GPU in an iteration: DDP, ZeRO-1 and ZeRO-2 2 N (K-1)/K elements, ZeRO-3 "
      "3 N (K-1)/K: 1.5 times as much (section 7).");
  page.item(
      "The most that fits is the first row of the paper's table 2 for 32 GB (--gpu v100) on 64 "
      "GPUs; with model parallelism of degree m each GPU holds 1/m of a model, so m times as much "
      "fits. Without it the paper's authors trained 13B with ZeRO-2 on 128 GPUs, where the states "
      "alone would allow 15.17B: activations need room as well.");
  page.item(about_optimizer_bytes());
  page.item(about_units());
  return page;
}

Json states_json(const PlanOptions& options) {
  Json json = {{"program", "plan"},
               {"formulas_only", true},
               {"dtype", to_string(options.understood.dtype)},
               {"optimizer_bytes_per_parameter", options.optimizer_bytes},
               {"gpu", options.gpu().name},
               {"gpu_memory", options.gpu().memory},
               {"model_states", Json::array()},
               {"largest_parameters_by_states", Json::array()}};
  for (const std::int64_t parameters : planned_parameters(options)) {
    for (const int gpus : options.gpus) {
      Json row = {{"parameters", parameters}, {"gpus", gpus}};
      for (const std::string& stage : options.stages)
        row[stage] = state_bytes(options, stage, parameters, gpus);
      json["model_states"].push_back(row);
    }
  }
  for (const int gpus : options.gpus) {
    Json row = {{"gpus", gpus}};
    for (const std::string& stage : options.stages)
      row[stage] = largest_model(options, stage, gpus);
    json["largest_parameters_by_states"].push_back(row);
  }
  return json;
}

}  // namespace zero
