// A plan for other programs.
#include "stages/plan/json.h"

#include "stages/plan/advice.h"

namespace zero {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const SimulatedRun& run) {
  return {{"parameters", run.parameters},
          {"gradients", run.gradients},
          {"optimizer_states", run.optimizer_states},
          {"activations", run.activations},
          {"temporary", run.temporary},
          {"communication", run.communication},
          {"workspace", run.workspace},
          {"peak_total", run.total},
          {"peak_step", run.peak_step}};
}

Json to_json(const Found& found) {
  return {{"number", found.number}, {"limit_of_the_programs", found.at_limit}};
}

Json to_json(const PlanOptions& options, const StagePlan& stage) {
  const double all = tokens_per_second(options, stage.run, options.gpu_count());
  return {{"stage", stage.stage->program},
          {"fits", stage.fits},
          {"memory", to_json(stage.run)},
          {"closed_form",
           {{"parameters", stage.formula.parameters},
            {"gradients", stage.formula.gradients},
            {"optimizer_states", stage.formula.optimizer_states},
            {"model_states", stage.formula.model_states},
            {"sent_bytes_per_iteration", stage.formula.sent_per_iteration}}},
          {"with_checkpointing",
           {{"peak_total_at_most", stage.checkpointed_total}, {"fits", stage.checkpointed_fits}}},
          {"sent_bytes_per_iteration", stage.run.sent},
          {"seconds_per_iteration", stage.run.seconds},
          {"computing_seconds", stage.run.computing},
          {"communicating_seconds", stage.run.communicating},
          {"product_flops", stage.run.product_flops},
          {"tokens_per_second", all},
          {"tokens_per_second_per_gpu", tokens_per_second(options, stage.run, 1)},
          {"training_seconds", options.tokens / all},
          {"largest_batch_per_gpu", to_json(stage.largest_batch)},
          {"largest_layers", to_json(stage.largest_layers)},
          {"largest_parameters", stage.largest_parameters},
          {"largest_parameters_by_states", stage.largest_by_states},
          {"refusal", stage.refusal},
          {"command", stage.run.command}};
}

Json sweep_json(const PlanOptions& options, const Plan& plan) {
  Json points = Json::array();
  for (const SweepPoint& point : plan.sweep) {
    Json row = {{"gpus", point.gpus}};
    for (std::size_t i = 0; i < point.runs.size(); ++i) {
      const auto& run = point.runs[i];
      row[plan.stages[i].stage->program] =
          run ? Json{{"tokens_per_second", tokens_per_second(options, *run, point.gpus)},
                     {"seconds_per_iteration", run->seconds},
                     {"peak_total", run->total}}
              : Json();
    }
    points.push_back(row);
  }
  return points;
}

}  // namespace

Json plan_json(const PlanOptions& options, const Plan& plan) {
  const ModelConfig& m = options.understood.model;
  const Hardware& h = options.understood.simulation.hardware;
  Json json = {
      {"program", "plan"},
      {"formulas_only", false},
      {"model",
       {{"name", options.model},
        {"note", options.model_note},
        {"layers", m.layers},
        {"heads", m.heads},
        {"channels", m.channels},
        {"context", m.context},
        {"vocab", m.vocab},
        {"num_parameters", plan.num_parameters}}},
      {"cluster",
       {{"gpus", options.gpu_count()},
        {"gpu", h.gpu.name},
        {"gpu_memory", h.gpu.memory},
        {"gpu_flops_per_second", options.flops_per_second()},
        {"gpus_per_node", h.gpus_per_node},
        {"link", h.link.name},
        {"network", h.network.name}}},
      {"dtype", to_string(options.understood.dtype)},
      {"optimizer_bytes_per_parameter", options.optimizer_bytes},
      {"batch_per_gpu", options.batch},
      {"tokens", options.tokens},
      {"activations_after_forward", plan.kept_activations},
      {"activations_with_checkpointing", plan.checkpointed_activations},
      {"least_training_seconds", least_seconds(plan.num_parameters, options.tokens,
                                               options.gpu_count(), options.flops_per_second())},
      {"smallest_stage", nullptr},
      {"gpus_needed", nullptr},
      {"stages", Json::array()}};
  if (plan.smallest >= 0)
    json["smallest_stage"] = plan.stages[static_cast<std::size_t>(plan.smallest)].stage->program;
  if (plan.gpus_needed > 0) json["gpus_needed"] = plan.gpus_needed;
  for (const StagePlan& stage : plan.stages) json["stages"].push_back(to_json(options, stage));
  if (!plan.sweep.empty()) json["sweep"] = sweep_json(options, plan);
  return json;
}

}  // namespace zero
