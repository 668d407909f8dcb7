// What follows from a plan, in sentences.
#include "stages/plan/advice.h"

#include <fmt/format.h>

#include <cstdlib>

#include "common/memory/bytes.h"
#include "stages/plan/describe.h"
#include "stages/plan/units.h"

namespace zero {
namespace {

// The stage that saves most, against the smallest that fits.
std::string cost_of_more(const StagePlan& smallest, const StagePlan& most) {
  const std::int64_t saved = smallest.run.total - most.run.total;
  std::string text = fmt::format("{} would need {} {}", name_of(*most.stage),
                                 decimal_bytes(std::abs(saved)), saved >= 0 ? "less" : "more");
  if (smallest.run.sent > 0) {
    text += fmt::format(", send {:.2f} times as much", static_cast<double>(most.run.sent) /
                                                           static_cast<double>(smallest.run.sent));
  }
  return text +
         fmt::format(" and take {:.2f} times as long.", most.run.seconds / smallest.run.seconds);
}

void when_one_fits(const PlanOptions& options, const Plan& plan, std::vector<std::string>& said) {
  const std::int64_t memory = options.gpu().memory;
  const StagePlan& smallest = plan.stages[static_cast<std::size_t>(plan.smallest)];
  said.push_back(fmt::format("The smallest that fits: {} ({}). It needs {} of {}; {} are left.",
                             name_of(*smallest.stage), smallest.stage->sharded,
                             decimal_bytes(smallest.run.total), decimal_bytes(memory),
                             decimal_bytes(memory - smallest.run.total)));
  const StagePlan* most = &smallest;
  const StagePlan* fastest = &smallest;
  for (const StagePlan& stage : plan.stages) {
    if (stage.largest_batch.number > most->largest_batch.number) most = &stage;
    if (stage.fits && stage.run.seconds < fastest->run.seconds) fastest = &stage;
  }
  if (fastest != &smallest) {
    const bool computes_less = fastest->run.computing < smallest.run.computing;
    said.push_back(fmt::format(
        "The fastest that fits: {}, {} an iteration instead of {}{}.", name_of(*fastest->stage),
        duration_text(fastest->run.seconds), duration_text(smallest.run.seconds),
        computes_less ? ": each GPU updates only its own part of the optimizer states" : ""));
  }
  if (&smallest != &plan.stages.back()) said.push_back(cost_of_more(smallest, plan.stages.back()));
  if (most != &smallest) {
    said.push_back(fmt::format(
        "What a stage saves can hold a larger batch, which pays for more communication: {} "
        "sequences on each GPU with {}, {} with {}.",
        with_commas(most->largest_batch.number), name_of(*most->stage),
        with_commas(smallest.largest_batch.number), name_of(*smallest.stage)));
  }
}

// Sharding more is not always needing less.
void when_more_is_not_less(const Plan& plan, std::vector<std::string>& said) {
  for (std::size_t i = 1; i < plan.stages.size(); ++i) {
    const StagePlan& less = plan.stages[i - 1];
    const StagePlan& more = plan.stages[i];
    if (more.run.total <= less.run.total) continue;
    const std::int64_t saved = less.run.states() - more.run.states();
    said.push_back(fmt::format(
        "{} needs {} more than {} here: sharding more saves {}, but its temporary buffers, one "
        "unit at a time, take {} more.",
        name_of(*more.stage), decimal_bytes(more.run.total - less.run.total), name_of(*less.stage),
        saved > 0 ? decimal_bytes(saved) : "nothing",
        decimal_bytes(more.run.temporary - less.run.temporary)));
  }
}

std::string why_no_number_helps(const StagePlan& last, std::int64_t memory) {
  const std::int64_t rest = last.run.total - last.run.states();
  if (rest < memory)
    return "More GPUs do not help, up to as many as the stage programs can be run on.";
  return fmt::format(
      "More GPUs do not help: they divide the model states, {} of each GPU, and the rest alone "
      "needs {}: activations, and temporary buffers as large as the largest unit.",
      decimal_bytes(last.run.states()), decimal_bytes(rest));
}

void when_none_fits(const PlanOptions& options, const Plan& plan, std::vector<std::string>& said) {
  const StagePlan& last = plan.stages.back();
  const std::int64_t memory = options.gpu().memory;
  said.push_back(fmt::format("None fits: {} needs {}, and each GPU has {}.", name_of(*last.stage),
                             decimal_bytes(last.run.total), decimal_bytes(memory)));
  if (plan.gpus_needed > 0) {
    said.push_back(fmt::format("More GPUs would help: with {} {} fits.",
                               gpus_text(plan.gpus_needed), name_of(*last.stage)));
  } else {
    said.push_back(why_no_number_helps(last, memory));
  }
  for (const StagePlan& stage : plan.stages) {
    if (!stage.checkpointed_fits) continue;
    said.push_back(
        fmt::format("Activation checkpointing would help (the stage programs do not do it): {} "
                    "would need {} at most, for about a third more computing.",
                    name_of(*stage.stage), decimal_bytes(stage.checkpointed_total)));
    break;
  }
  for (const StagePlan& stage : plan.stages) {
    if (stage.largest_batch.number == 0) continue;
    said.push_back(fmt::format("A smaller batch would help: {} fits with --batch {}.",
                               name_of(*stage.stage), stage.largest_batch.number));
    break;
  }
  if (options.batch == 1) {
    said.push_back(
        "The batch is one sequence on each GPU already; a shorter --context makes activations "
        "smaller too.");
  }
}

}  // namespace

double tokens_per_second(const PlanOptions& options, const SimulatedRun& run, int gpus) {
  return static_cast<double>(options.batch) * options.understood.model.context * gpus / run.seconds;
}

std::vector<std::string> advice(const PlanOptions& options, const Plan& plan) {
  std::vector<std::string> said;
  if (plan.smallest >= 0) {
    when_one_fits(options, plan, said);
  } else {
    when_none_fits(options, plan, said);
  }
  when_more_is_not_less(plan, said);
  return said;
}

std::string about_optimizer_bytes() {
  return "M, the optimizer's bytes a parameter: 8 is Adam's momentum and variance in fp32; 12, the "
         "ZeRO paper's count, also the fp32 copy of the parameters: 16 bytes a parameter in all; "
         "16, the lecture's count, also fp32 gradients: 20 bytes in all (--optimizer-bytes 16). "
         "With M = 8 there are formulas only: the programs keep an fp32 copy.";
}

std::string about_units() {
  return "1 GB is 10^9 bytes, as on data sheets; 1 GiB is 2^30 bytes. 80 GB are 74.5 GiB.";
}

std::vector<std::string> how_to_read(const PlanOptions& options, const Plan& plan) {
  std::vector<std::string> said;
  bool exact = true, brackets = false;
  for (const StagePlan& stage : plan.stages) {
    exact = exact && stage.run.states() == stage.formula.model_states &&
            stage.run.sent == stage.formula.sent_per_iteration;
    brackets = brackets || !stage.fits;
  }
  said.push_back(fmt::format(
      "All but formulas is from runs of the stage programs on simulated GPUs (--device simulated "
      "--representative: rank 0 stands for all, collectives in closed form). Model states and "
      "bytes "
      "sent are exactly the formulas': {}. The operators' workspace, which differs by device, is "
      "not counted.",
      exact ? "yes" : "no"));
  if (brackets)
    said.push_back("In brackets: how long it would take on a GPU with memory enough for it.");
  said.push_back(
      "Times of ZeRO-2 and ZeRO-3 are upper bounds: in closed form each piece of a unit goes all "
      "the "
      "way round before the next begins. With many GPUs and a small model that costs many times "
      "what their bytes do; a stage program with --messages each shows less.");
  said.push_back(
      "Sent: DDP, ZeRO-1 and ZeRO-2 pass over N twice, ZeRO-3 three times (its parameters are "
      "gathered for the forward and again for the backward pass), each time (K-1)/K of it.");
  said.push_back(fmt::format(
      "Activation checkpointing keeps each block's input and computes one block at a time again "
      "(Chen et al., 2016): at most A(1) + (L-1) B T C w bytes, where A(1) is what one block, "
      "embedding and head keep and w is the bytes of {}; here {} instead of {}.",
      to_string(options.understood.dtype), decimal_bytes(plan.checkpointed_activations),
      decimal_bytes(plan.kept_activations)));
  const double least = least_seconds(plan.num_parameters, options.tokens, options.gpu_count(),
                                     options.flops_per_second());
  said.push_back(
      fmt::format("Training on D = {} tokens takes 6 N D FLOPs (Kaplan et al., 2020): {} if all "
                  "GPUs did nothing "
                  "else, at the rate of their data sheet.",
                  round_text(options.tokens), duration_text(least)));
  said.push_back(
      "By states alone: what the memory would hold if there were nothing but model states (ZeRO "
      "paper, table 2).");
  said.push_back(about_optimizer_bytes());
  said.push_back(about_units());
  return said;
}

}  // namespace zero
