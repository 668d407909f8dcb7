// A plan in words and tables: what is planned, one column for each stage, and what follows.
#include "stages/plan/describe.h"

#include <fmt/format.h>

#include "common/memory/bytes.h"
#include "stages/plan/advice.h"
#include "stages/plan/units.h"

namespace zero {
namespace {

// One row, a cell for each stage.
template <class Cell>
void add_row(PageTable& table, const Plan& plan, const std::string& label, const Cell& cell) {
  std::vector<std::string> cells;
  for (const StagePlan& stage : plan.stages) cells.push_back(cell(stage));
  table.row(label, cells);
}

// A byte count that each run has.
void add_bytes(PageTable& table, const Plan& plan, const std::string& label,
               std::int64_t SimulatedRun::*bytes) {
  add_row(table, plan, label, [&](const StagePlan& s) { return decimal_bytes(s.run.*bytes); });
}

// What only a larger GPU would show stands in brackets.
std::string if_it_fitted(const StagePlan& stage, const std::string& text) {
  return stage.fits ? text : "(" + text + ")";
}

std::string fits_text(std::int64_t total, std::int64_t memory) {
  return total <= memory ? "yes" : "no";
}

// "step 2" of "2. Backward: ..."
std::string short_step(const std::string& banner) {
  const std::string number = banner.substr(0, banner.find_first_not_of("0123456789"));
  return number.empty() ? banner.substr(0, 14) : "step " + number;
}

std::string found_text(const Found& found) {
  if (found.number == 0) return "none";
  return with_commas(found.number) + (found.at_limit ? "+" : "");
}

void add_memory(PageTable& table, const PlanOptions& options, const Plan& plan) {
  const std::int64_t memory = options.gpu().memory;
  table.group("held by each GPU");
  add_bytes(table, plan, "parameters", &SimulatedRun::parameters);
  add_bytes(table, plan, "gradients", &SimulatedRun::gradients);
  add_bytes(table, plan, "optimizer states", &SimulatedRun::optimizer_states);
  add_row(table, plan, "model states (sum)",
          [](const StagePlan& s) { return decimal_bytes(s.run.states()); });
  add_row(table, plan, "  formula",
          [](const StagePlan& s) { return decimal_bytes(s.formula.model_states); });
  table.group("on top, at their peak");
  add_bytes(table, plan, "activations", &SimulatedRun::activations);
  add_bytes(table, plan, "temporary buffers", &SimulatedRun::temporary);
  add_bytes(table, plan, "communication", &SimulatedRun::communication);
  add_bytes(table, plan, "everything at its peak", &SimulatedRun::total);
  add_row(table, plan, "  the same in powers of 2",
          [](const StagePlan& s) { return binary_bytes(s.run.total); });
  add_row(table, plan, "  which is in",
          [](const StagePlan& s) { return short_step(s.run.peak_step); });
  add_row(table, plan, fmt::format("fits into {}", decimal_bytes(memory)),
          [&](const StagePlan& s) { return fits_text(s.run.total, memory); });
  table.group("with checkpointing, at most (formula)");
  add_row(table, plan, "activations",
          [&](const StagePlan&) { return decimal_bytes(plan.checkpointed_activations); });
  add_row(table, plan, "everything",
          [](const StagePlan& s) { return decimal_bytes(s.checkpointed_total); });
  add_row(table, plan, fmt::format("fits into {}", decimal_bytes(memory)),
          [&](const StagePlan& s) { return fits_text(s.checkpointed_total, memory); });
}

void add_time(PageTable& table, const PlanOptions& options, const Plan& plan) {
  const auto row = [&](const std::string& label, const auto& text) {
    add_row(table, plan, label, [&](const StagePlan& s) { return if_it_fitted(s, text(s.run)); });
  };
  table.group("an iteration, simulated");
  row("sent by each GPU", [](const SimulatedRun& r) { return decimal_bytes(r.sent); });
  row("time", [](const SimulatedRun& r) { return duration_text(r.seconds); });
  row("  computing", [](const SimulatedRun& r) { return duration_text(r.computing); });
  row("  communicating", [](const SimulatedRun& r) { return duration_text(r.communicating); });
  row("of the peak FLOP/s", [&](const SimulatedRun& r) {
    return fmt::format("{:.1f} %", 100 * r.product_flops / r.seconds / options.flops_per_second());
  });
  row("tokens/s, each GPU",
      [&](const SimulatedRun& r) { return rate_text(tokens_per_second(options, r, 1)); });
  row("tokens/s, all GPUs", [&](const SimulatedRun& r) {
    return rate_text(tokens_per_second(options, r, options.gpu_count()));
  });
  row(fmt::format("training on {} tokens", round_text(options.tokens)), [&](const SimulatedRun& r) {
    return duration_text(options.tokens / tokens_per_second(options, r, options.gpu_count()));
  });
}

void add_largest(PageTable& table, const Plan& plan) {
  table.group("the most that fits (+: at least)");
  add_row(table, plan, "sequences per GPU",
          [](const StagePlan& s) { return found_text(s.largest_batch); });
  add_row(table, plan, "layers of this width",
          [](const StagePlan& s) { return found_text(s.largest_layers); });
  add_row(table, plan, "  parameters", [](const StagePlan& s) {
    return s.largest_parameters == 0 ? "-" : parameters_text(s.largest_parameters);
  });
  add_row(table, plan, "parameters, by states alone",
          [](const StagePlan& s) { return parameters_text(s.largest_by_states); });
}

void add_states_by_count(PageTable& table, const PlanOptions& options, const Plan& plan) {
  if (options.understood.dtype == Dtype::fp32) return;
  table.group("model states by M (formula)");
  for (const auto& [M, what] : {std::pair{8, "M = 8: momentum, variance"},
                                {12, "M = 12: and fp32 parameters"},
                                {16, "M = 16: and fp32 gradients"}}) {
    add_row(table, plan, what, [&, bytes = M](const StagePlan& s) {
      return decimal_bytes(evaluate(s.stage->form, plan.num_parameters, options.gpu_count(),
                                    options.understood.dtype, bytes)
                               .model_states);
    });
  }
}

bool fits_somewhere(const Plan& plan) {
  for (const SweepPoint& point : plan.sweep) {
    for (const auto& run : point.runs) {
      if (run) return true;
    }
  }
  return false;
}

PageTable sweep_table(const PlanOptions& options, const Plan& plan) {
  PageTable table;
  for (const StagePlan& stage : plan.stages) table.columns.push_back(name_of(*stage.stage));
  table.group("tokens/s, all GPUs");
  for (const SweepPoint& point : plan.sweep) {
    std::vector<std::string> cells;
    for (const auto& run : point.runs) {
      cells.push_back(run ? rate_text(tokens_per_second(options, *run, point.gpus))
                          : "does not fit");
    }
    table.row(gpus_text(point.gpus), cells);
  }
  table.group("tokens/s, each GPU");
  for (const SweepPoint& point : plan.sweep) {
    std::vector<std::string> cells;
    for (const auto& run : point.runs)
      cells.push_back(run ? rate_text(tokens_per_second(options, *run, 1)) : "-");
    table.row(gpus_text(point.gpus), cells);
  }
  return table;
}

}  // namespace

std::string gpus_text(std::int64_t gpus) {
  return with_commas(gpus) + (gpus == 1 ? " GPU" : " GPUs");
}

std::string sequences_text(std::int64_t sequences) {
  return with_commas(sequences) + (sequences == 1 ? " sequence" : " sequences");
}

void describe_work(const PlanOptions& options, Page& page) {
  const ModelConfig& m = options.understood.model;
  const Hardware& h = options.understood.simulation.hardware;
  const std::int64_t N = count_parameters(m);
  const std::string name = options.model.empty() ? "a model of your own" : options.model;
  page.heading(fmt::format("{} on {}, {}", name, gpus_text(options.gpu_count()), h.gpu.name));
  page.item(fmt::format(
      "The model: {} layers, {} heads, {} channels, context {}, vocabulary {}: N = {} parameters "
      "({}), counted tensor by tensor.",
      with_commas(m.layers), with_commas(m.heads), with_commas(m.channels), with_commas(m.context),
      with_commas(m.vocab), with_commas(N), parameters_text(N)));
  if (!options.model_note.empty())
    page.item(fmt::format("{}: {}.", options.model, options.model_note));
  page.item(fmt::format(
      "The cluster: {} with {} ({}) of memory, which reads {}/s and multiplies {} at {:g} TFLOP/s; "
      "{} to a node, linked by {} ({}/s); between nodes {} ({}/s).",
      gpus_text(options.gpu_count()), decimal_bytes(h.gpu.memory), binary_bytes(h.gpu.memory),
      decimal_bytes(static_cast<std::int64_t>(h.gpu.bandwidth)),
      to_string(options.understood.dtype), options.flops_per_second() / 1e12, h.gpus_per_node,
      h.link.name, decimal_bytes(static_cast<std::int64_t>(h.link.bandwidth)), h.network.name,
      decimal_bytes(static_cast<std::int64_t>(h.network.bandwidth))));
  page.item(
      fmt::format("The work: {} of {} tokens on each GPU, {} tokens an iteration on all of them; "
                  "{}, with M = {} bytes of optimizer states a parameter.",
                  sequences_text(options.batch), with_commas(m.context),
                  with_commas(std::int64_t{options.batch} * m.context * options.gpu_count()),
                  to_string(options.understood.dtype), options.optimizer_bytes));
}

Page describe(const PlanOptions& options, const Plan& plan) {
  Page page;
  describe_work(options, page);
  PageTable table;
  for (const StagePlan& stage : plan.stages) table.columns.push_back(name_of(*stage.stage));
  add_memory(table, options, plan);
  add_time(table, options, plan);
  add_largest(table, plan);
  add_states_by_count(table, options, plan);
  page.table(table);
  page.heading("Which stage?");
  for (const std::string& sentence : advice(options, plan)) page.item(sentence);
  if (!plan.sweep.empty()) {
    page.heading(fmt::format("Throughput against the number of GPUs, {} on each",
                             sequences_text(options.batch)));
    if (fits_somewhere(plan)) {
      page.table(sweep_table(options, plan));
    } else {
      page.text("No stage fits on any of these numbers of GPUs.");
    }
  }
  page.heading("How to read it");
  for (const std::string& sentence : how_to_read(options, plan)) page.item(sentence);
  return page;
}

}  // namespace zero
