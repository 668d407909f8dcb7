// plan's command line; what describes model and cluster is understood by the stage programs'
// parser.
#include "stages/plan/options.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "common/train/model_presets.h"
#include "stages/compare/options.h"
#include "stages/plan/formulas.h"
#include "stages/plan/units.h"

namespace zero {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAbout =
    "Which stage do I need? For a model and a cluster: what DDP, ZeRO-1, ZeRO-2 and ZeRO-3 hold "
    "on\n"
    "each GPU, whether it fits, what they send and how long an iteration takes. The numbers are "
    "those\n"
    "of the stage programs themselves, run on simulated GPUs, which store nothing; the formulas "
    "stand\n"
    "beside them. Then the smallest stage that fits, the largest batch and the largest model.\n"
    "Without a model, --layers or another number of its shape: llama3-8b on 8 H100.";

constexpr const char* kExamples =
    "Examples:\n"
    "  plan --model llama3-8b --gpus 8 --gpu h100    which stage do I need?\n"
    "  plan --model gpt2-xl --gpus 4 --gpu v100 --batch 4\n"
    "                                                four sequences on each GPU\n"
    "  plan --model 1t --gpus 1024 --gpu v100        what 1T parameters would need there\n"
    "  plan --layers 24 --heads 16 --channels 1024 --context 1024 --vocab 50257\n"
    "                                                a model of your own\n"
    "  plan --model 7.5b --gpus 64 --gpu v100 --sweep\n"
    "                                                throughput from 1 GPU to 64\n"
    "  plan --parameters 7.5B,128B,1T --gpus 1,4,16,64,256,1024\n"
    "                                                the ZeRO paper's table 1: states alone\n"
    "  plan --model 100b --gpus 400 --svg plan.svg --markdown plan.md\n"
    "                                                for a slide\n"
    "Bytes: 1 GB is 10^9 bytes, as on a GPU's data sheet; 1 GiB is 2^30 bytes, 7% more.\n"
    "Exit status: 0, whether a stage fits or not; 1: a stage program failed; 2: a command line "
    "that\n"
    "cannot be used.";

constexpr const char* kModel = "The model";
constexpr const char* kCluster = "The cluster";

// An option that is for the stage programs, as it was written.
struct PassedOn {
  const char* name;
  const char* help;
  const char* group;
};
constexpr PassedOn kPassedOn[] = {
    {"--layers", "L: transformer blocks", kModel},
    {"--heads", "H: attention heads", kModel},
    {"--channels", "C: width; a multiple of H", kModel},
    {"--vocab", "V: different tokens", kModel},
    {"--context", "T: tokens in a sequence", kModel},
    {"--dtype", "fp16 (default), bf16 or fp32", kModel},
    {"--gpu", "v100, a100, h100 (default) or h200", kCluster},
    {"--gpu-memory", "80GB (10^9 bytes) or 80GiB (2^30); default: its own", kCluster},
    {"--gpu-bandwidth", "of its memory, per second: 3.35TB", kCluster},
    {"--gpu-flops", "16-bit matrix products, FLOP/s: 500e12", kCluster},
    {"--gpu-fp32-flops", "everything else, and fp32 products", kCluster},
    {"--gpu-launch", "seconds that starting a kernel takes", kCluster},
    {"--gpus-per-node", "default 8", kCluster},
    {"--link", "of a node's GPUs: nvlink2, nvlink3, nvlink4, pcie3, pcie4, pcie5", kCluster},
    {"--link-latency", "seconds", kCluster},
    {"--link-bandwidth", "of one direction, per second: 450GB", kCluster},
    {"--network", "between nodes: edr, hdr, ndr (InfiniBand)", kCluster},
    {"--network-latency", "seconds", kCluster},
    {"--network-bandwidth", "of one GPU, per second: 25GB", kCluster},
    {"--host-latency", "seconds that a scalar takes (a loss, a norm)", kCluster}};

bool is_shape(const std::string& name) {
  return name == "--layers" || name == "--heads" || name == "--channels" || name == "--vocab" ||
         name == "--context";
}

// What the command line said, before it is understood.
struct Words {
  std::string parameters, gpus;
  std::map<std::string, std::string> passed_on;  // by name; only those that were given
  bool model = false, batch = false, optimizer_bytes = false, tokens = false;
};

// Where the running program's file lies; the stages stand beside it.
std::string own_folder(const char* program) {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) self = fs::absolute(program ? program : "plan", error);
  return self.parent_path().string();
}

int screen_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::clamp<int>(size.ws_col, 60, 100);
  return 100;
}

void check_writable(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  if (fs::is_directory(path, error))
    throw UsageError(fmt::format("{} {}: is a folder; name a file", option, path));
  const fs::path place =
      fs::exists(path, error) ? fs::path(path) : fs::absolute(path).parent_path();
  if (access(place.c_str(), W_OK) != 0) {
    throw UsageError(
        fmt::format("{} {}: cannot be written there; choose another place", option, path));
  }
}

void check_two_files(const char* option, const std::string& path, const char* other_option,
                     const std::string& other) {
  if (path.empty() || other.empty()) return;
  std::error_code error;
  if (std::filesystem::weakly_canonical(path, error) !=
      std::filesystem::weakly_canonical(other, error))
    return;
  throw UsageError(
      fmt::format("{} and {}: both write {}; name two files", option, other_option, path));
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

std::vector<std::int64_t> read_parameters(const std::string& text) {
  std::vector<std::int64_t> counts;
  if (text.empty()) return counts;
  for (const std::string& part : split_at_commas(text)) {
    try {
      counts.push_back(parse_count(part));
    } catch (const std::invalid_argument& error) {
      throw UsageError(fmt::format("--parameters: {}", error.what()));
    }
  }
  return counts;
}

std::vector<int> read_gpus(const std::string& text) {
  constexpr int kMost = 1 << 20;
  std::vector<int> gpus;
  for (const std::string& part : split_at_commas(text)) {
    const bool digits = !part.empty() && part.size() <= 9 &&
                        part.find_first_not_of("0123456789") == std::string::npos;
    const int number = digits ? std::stoi(part) : 0;
    if (number < 1 || number > kMost) {
      throw UsageError(
          fmt::format("--gpus {}: write a whole number of GPUs, from 1 to {}", text, kMost));
    }
    gpus.push_back(number);
  }
  return gpus;
}

// Formulas need no model, and say nothing of time.
void check_parameters_alone(const PlanOptions& o, const Words& words) {
  for (const auto& [name, value] : words.passed_on) {
    if (name == "--dtype" || name == "--gpu" || name == "--gpu-memory") continue;
    throw UsageError(fmt::format(
        "--parameters: a number of parameters says what the model states need and nothing else; "
        "leave {} out, or use --model",
        name));
  }
  for (const auto& [name, given] : {std::pair{"--model", words.model},
                                    {"--batch", words.batch},
                                    {"--sweep", o.sweep},
                                    {"--tokens", words.tokens}}) {
    if (!given) continue;
    throw UsageError(fmt::format("--parameters: goes without {}; leave one of them out", name));
  }
}

// They are put in the order of their numbers.
void check_stages(PlanOptions& o) {
  for (const std::string& stage : o.stages) {
    if (!find_planned_stage(stage)) {
      throw UsageError(fmt::format("--stages {}: choose from ddp,zero1,zero2,zero3", stage));
    }
    if (std::count(o.stages.begin(), o.stages.end(), stage) > 1)
      throw UsageError(fmt::format("--stages: {} is named twice", stage));
    const fs::path program = fs::path(o.programs) / stage;
    if (o.formulas_only()) continue;
    if (access(program.c_str(), X_OK) != 0 || fs::is_directory(program)) {
      throw UsageError(
          fmt::format("--stages: there is no program \"{}\" in {}; build it, or say "
                      "--programs DIR",
                      stage, o.programs));
    }
  }
  std::sort(o.stages.begin(), o.stages.end(), [](const std::string& a, const std::string& b) {
    return find_planned_stage(a) < find_planned_stage(b);  // of one array
  });
}

// M must be one that the training type has.
void check_optimizer_bytes(PlanOptions& o, bool given) {
  const bool fp32 = o.understood.dtype == Dtype::fp32;
  if (fp32 && !given) o.optimizer_bytes = 8;
  const int M = o.optimizer_bytes;
  if (M != 8 && M != 12 && M != 16) {
    throw UsageError(fmt::format(
        "--optimizer-bytes {}: choose 8 (momentum and variance), 12 (and an fp32 copy of the "
        "parameters) or 16 (and the fp32 gradients)",
        M));
  }
  if (fp32 && M != 8) {
    throw UsageError(fmt::format(
        "--optimizer-bytes {}: with --dtype fp32 there is nothing to copy to fp32; use 8", M));
  }
}

// What a stage program says of --ranks and --batch, in plan's words.
std::string in_own_words(const PlanOptions& o, const std::string& message) {
  if (message.starts_with("--ranks")) return "--gpus" + message.substr(7);
  if (!message.starts_with("--batch")) return message;
  return fmt::format("--batch {}: on {} GPUs that is too much for the stage programs ({})", o.batch,
                     o.gpu_count(), message);
}

// A GPU of 80 bytes is a mistake.
void check_unit(const PlanOptions& o) {
  const auto memory = option_value(o.passed_on, "--gpu-memory");
  if (!memory || memory->find_first_not_of("0123456789.") != std::string::npos) return;
  throw UsageError(
      fmt::format("--gpu-memory {0}: of what? write {0}GB (10^9 bytes) or {0}GiB (2^30)", *memory));
}

// As the stage programs read it, so that both mean the same.
void understand(PlanOptions& o) {
  const std::int64_t all = std::int64_t{o.batch} * o.gpu_count();
  std::vector<std::string> words = {"plan", "--device", "simulated", "--representative"};
  words.insert(words.end(), o.passed_on.begin(), o.passed_on.end());
  // Formulas have no limit of GPUs.
  const bool states_alone = !o.parameters.empty();
  words.insert(words.end(), {"--ranks", states_alone ? "1" : std::to_string(o.gpu_count()),
                             "--batch", states_alone ? "1" : std::to_string(all)});
  std::vector<const char*> argv;
  argv.reserve(words.size());
  for (const std::string& word : words) argv.push_back(word.c_str());
  try {
    o.understood = parse_options(static_cast<int>(argv.size()), argv.data(), 0).options;
  } catch (const UsageError& error) {
    throw UsageError(in_own_words(o, error.what()));
  }
}

void check(PlanOptions& o, const Words& words) {
  if (o.parameters.empty() && o.gpus.size() > 1)
    throw UsageError("--gpus: several numbers go with --parameters only; see also --sweep");
  if (o.batch < 1)
    throw UsageError(fmt::format("--batch {}: at least one sequence on each GPU", o.batch));
  if (!(o.tokens >= 1) || !std::isfinite(o.tokens))
    throw UsageError(fmt::format("--tokens {}: write a number from 1, as 300e9", o.tokens));
  if (o.width < 40) throw UsageError(fmt::format("--width {}: must be at least 40", o.width));
  if (!o.parameters.empty()) check_parameters_alone(o, words);
  check_unit(o);
  understand(o);
  check_optimizer_bytes(o, words.optimizer_bytes);
  if (o.optimizer_bytes == 16) o.passed_on.push_back("--fp32-grads");
  if (o.formulas_only() && o.sweep)
    throw UsageError("--sweep: needs runs, and the stage programs cannot run with M = 8");
  check_stages(o);
  check_writable("--json", o.json);
  check_writable("--markdown", o.markdown);
  check_writable("--svg", o.svg);
  check_two_files("--json", o.json, "--markdown", o.markdown);
  check_two_files("--json", o.json, "--svg", o.svg);
  check_two_files("--markdown", o.markdown, "--svg", o.svg);
  // "llama3-8b: approximates ..."
  const std::string& note = o.understood.model_note;
  if (!o.model.empty() && note.size() > o.model.size() + 2)
    o.model_note = note.substr(o.model.size() + 2);
}

void collect(PlanOptions& o, const Words& words) {
  if (!words.parameters.empty()) o.parameters = read_parameters(words.parameters);
  if (!words.gpus.empty()) o.gpus = read_gpus(words.gpus);
  bool shape = false;
  for (const auto& [name, value] : words.passed_on) shape = shape || is_shape(name);
  if (!o.parameters.empty() || (shape && !words.model)) o.model.clear();
  if (!o.model.empty()) o.passed_on = {"--model", o.model};
  for (const auto& [name, value] : words.passed_on) {
    o.passed_on.push_back(name);
    o.passed_on.push_back(value);
  }
}

std::string model_names() {
  std::string names;
  for (const ModelPreset& preset : model_presets())
    names += (names.empty() ? "" : ", ") + preset.key;
  return names;
}

}  // namespace

double PlanOptions::flops_per_second() const {
  if (understood.dtype == Dtype::fp16) return gpu().half_flops;
  return understood.dtype == Dtype::bf16 ? gpu().bf16_flops : gpu().fp32_flops;
}

bool PlanOptions::formulas_only() const {
  return !parameters.empty() || (optimizer_bytes == 8 && understood.dtype != Dtype::fp32);
}

ParsedPlan parse_plan_options(int argc, const char* const* argv) {
  ParsedPlan parsed;
  PlanOptions& o = parsed.options;
  o.programs = own_folder(argc > 0 ? argv[0] : nullptr);
  o.width = screen_width();
  Words words;
  std::map<std::string, std::string> texts;

  CLI::App app(kAbout, "plan");
  app.footer(kExamples);
  app.get_formatter()->column_width(30);
  auto* model = app.add_option("--model", o.model, model_names())->group(kModel);
  for (const PassedOn& option : kPassedOn) {
    if (option.group == kModel)
      app.add_option(option.name, texts[option.name], option.help)->group(kModel);
  }
  app.add_option("--parameters", words.parameters,
                 "instead of a model: 7.5e9, or 7.5B,128B,1T: model states alone")
      ->group(kModel);
  auto* optimizer_bytes =
      app.add_option("--optimizer-bytes", o.optimizer_bytes,
                     "M: 12, 16 (with fp32 gradients), or 8 (no fp32 copy; formulas only)")
          ->group(kModel);
  auto* batch =
      app.add_option("--batch", o.batch, "sequences on each GPU, not on all of them; default 1")
          ->group(kModel);
  auto* tokens =
      app.add_option("--tokens", o.tokens, "that are trained on; default 300e9")->group(kModel);

  app.add_option("--gpus", words.gpus, "K; with --parameters also several: 1,4,16,64")
      ->group(kCluster);
  for (const PassedOn& option : kPassedOn) {
    if (option.group == kCluster)
      app.add_option(option.name, texts[option.name], option.help)->group(kCluster);
  }

  app.add_option("--stages", o.stages, "which; default ddp,zero1,zero2,zero3")
      ->delimiter(',')
      ->group("What is shown");
  app.add_flag("--sweep", o.sweep, "also the throughput of 1, 2, 4, ... K GPUs")
      ->group("What is shown");
  app.add_option("--json", o.json, "file for all numbers")->group("What is shown");
  app.add_option("--markdown", o.markdown, "file for the same tables as Markdown")
      ->group("What is shown");
  app.add_option("--svg", o.svg, "file for a picture: what fills a GPU, stage by stage")
      ->group("What is shown");
  app.add_option("--width", o.width, "characters in a line; default: the screen's, at most 100")
      ->group("What is shown");
  app.add_option("--programs", o.programs, "folder of the stage programs; default: beside plan")
      ->group("What is shown");
  app.add_flag("--quiet", o.quiet, "no progress")->group("What is shown");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    app.exit(success);
    parsed.stop = true;
    return parsed;
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}; see plan --help", error.what()));
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty())
        throw UsageError(fmt::format("{}: needs a value; see plan --help", option->get_name()));
    }
  }
  for (const auto& [name, text] : texts) {
    if (app.get_option(name)->count() > 0) words.passed_on[name] = text;
  }
  words.model = model->count() > 0;
  words.batch = batch->count() > 0;
  words.optimizer_bytes = optimizer_bytes->count() > 0;
  words.tokens = tokens->count() > 0;
  collect(o, words);
  check(o, words);
  return parsed;
}

}  // namespace zero
