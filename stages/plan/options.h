// plan's command line: what is planned, and for which cluster.
#pragma once

#include <string>
#include <vector>

#include "common/train/options.h"

namespace zero {

struct PlanOptions {
  std::vector<std::string> stages = {"ddp", "zero1", "zero2", "zero3"};

  // --parameters: nothing but these many is known of the models, and formulas are all there is.
  std::vector<std::int64_t> parameters;
  std::vector<int> gpus = {8};  // several with --parameters only

  std::string model = "llama3-8b";  // empty: by its layers, heads, ... alone
  std::string model_note;           // what the preset is, and what it approximates
  int batch = 1;                    // sequences per GPU
  int optimizer_bytes = 12;         // M
  double tokens = 300e9;            // that are trained on
  bool sweep = false;

  std::string json, markdown, svg;  // empty: not written
  std::string programs;             // the folder of the stage programs
  int width = 100;                  // characters in a line
  bool quiet = false;

  // Words that describe model and cluster to a stage program; without --ranks and --batch.
  std::vector<std::string> passed_on;
  // What a stage program understands by them and gpus.front(): shape, type, hardware.
  Options understood;

  int gpu_count() const { return gpus.front(); }
  const Gpu& gpu() const { return understood.simulation.hardware.gpu; }
  // Of matrix products in the training type, on one GPU.
  double flops_per_second() const;
  // The stage programs keep a master copy of 16-bit parameters: they cannot run with M = 8.
  bool formulas_only() const;
};

struct ParsedPlan {
  PlanOptions options;
  bool stop = false;  // after --help
};

// Throws UsageError. Checks what can be known before a stage is run.
ParsedPlan parse_plan_options(int argc, const char* const* argv);

}  // namespace zero
