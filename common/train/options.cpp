// The command line: one description of every option, checked before anything runs.
#include "common/train/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>

#include "common/memory/bytes.h"
#include "common/train/model_presets.h"

namespace zero {
namespace {

constexpr int kMostThreads = 64;            // ranks in one process
constexpr int kMostSimulatedRanks = 16384;  // ranks that are no threads

// Larger numbers are mistakes: what they ask for no machine holds, and products of them overflow.
constexpr int kMostLayers = 10'000;
constexpr int kMostChannels = 1 << 17;
constexpr int kMostContext = 1 << 20;
constexpr int kMostTokenIds = 1 << 24;
constexpr int kMostBatch = 1 << 20;
constexpr std::int64_t kMostChunk = 1 << 28;
constexpr std::int64_t kMostTokens = 1 << 26;  // of one rank, in an iteration

constexpr const char* kAbout =
    "Trains a small GPT on --ranks ranks and accounts for every byte that a rank holds and sends.\n"
    "Each rank is a thread of this process, or a process when it is started by mpirun.\n"
    "Prints one line per iteration: mean loss over all ranks, norm of the whole gradient, and a\n"
    "fingerprint of the whole state: the four stages print the same bits.";

constexpr const char* kExamples =
    "Examples:\n"
    "  {0} --ranks 3 --dtype bf16                 three ranks, another storage type\n"
    "  {0} --device cuda                          on the GPUs of this machine\n"
    "  {0} --trace out/{0} --trace-iterations 1   what happened, event by event\n"
    "  {0} --memory-budget 4MiB                   a device that may be too small\n"
    "  {0} --device simulated --model gpt2-xl --ranks 64 --gpu a100\n"
    "                                             what it would need and take there\n"
    "  {0} --json out.json --quiet                the numbers, for a program\n"
    "  mpirun -n 4 {0}                            the same bits, as processes\n"
    "Exit status: 0; 1: a rank failed; 2: a command line or an input that cannot be used, or a "
    "device\n"
    "that is too small.";

UsageError bad(const std::string& what) { return UsageError(what); }

// Digits and nothing else, not too large for `number`.
template <class Number>
bool whole_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() &&
         text.front() != '-';
}

// The number of ranks nearest to `ranks` that divides `batch`, or the batch that `ranks` divides.
// `most` ranks are possible.
std::string nearest_that_works(int batch, int ranks, int most, bool mpi) {
  int best_ranks = 1;
  for (int k = 1; k <= std::min(batch, most); ++k) {
    if (batch % k == 0 && std::abs(k - ranks) < std::abs(best_ranks - ranks)) best_ranks = k;
  }
  const int below = batch / ranks * ranks;
  const int above = below + ranks;
  const int best_batch = below > 0 && batch - below <= above - batch ? below : above;
  return fmt::format("use --batch {} or {} {}", best_batch, mpi ? "mpirun -n" : "--ranks",
                     best_ranks);
}

// Anything the command line names that will be written: can it be?
void check_writable(const std::string& option, const std::string& path, bool directory) {
  if (path.empty()) return;
  namespace fs = std::filesystem;
  std::error_code error;
  if (!directory && fs::is_directory(path, error))
    throw bad(fmt::format("{} {}: is a folder; name a file", option, path));
  const fs::file_status status = fs::symlink_status(path, error);
  if (!directory && fs::exists(status) && !fs::is_regular_file(status)) {
    if (option == "--json") return;  // a pipe, a device or a link: written to as it is
    throw bad(fmt::format("{} {}: is not an ordinary file; name another", option, path));
  }
  fs::path parent = directory ? fs::path(path) : fs::absolute(path, error).parent_path();
  if (directory && fs::exists(path, error) && !fs::is_directory(path, error))
    throw bad(fmt::format("{} {}: is a file; name a folder", option, path));
  if (directory) {  // the nearest folder that exists must allow a new one
    while (!parent.empty() && !fs::exists(parent, error))
      parent = fs::absolute(parent).parent_path();
  }
  const fs::path probe = parent / ".zero_steps_can_write";
  std::FILE* file = std::fopen(probe.c_str(), "w");
  if (!file)
    throw bad(fmt::format("{} {}: cannot be written there; choose another place", option, path));
  std::fclose(file);
  fs::remove(probe, error);
}

std::string model_names() {
  std::string names;
  for (const ModelPreset& preset : model_presets())
    names += (names.empty() ? "" : ", ") + preset.key;
  return names;
}

struct Given {
  const char* option;
  int* number;
};

// Reads again the numbers that the command line gave; returns the options that changed something.
std::string keep_given(const CLI::App& app, std::initializer_list<Given> numbers) {
  std::string changed;
  for (const auto& [name, number] : numbers) {
    const CLI::Option* option = app.get_option(name);
    if (option->count() == 0 || option->as<int>() == *number) continue;
    *number = option->as<int>();
    changed += fmt::format("{}{}", changed.empty() ? "" : ", ", name);
  }
  return changed;
}

// "0,7-9", "all"; empty: all of them, or of many simulated ones a few that stand for the others.
std::vector<int> read_trace_ranks(const std::string& text, const Options& o) {
  constexpr int kMany = 16;
  if (o.simulation.representative) {
    if (text.empty() || text == "0") return {0};
    throw bad(
        fmt::format("--trace-ranks {}: with --representative only rank 0 is run; leave one of the "
                    "two out",
                    text));
  }
  if (text == "all") return {};
  if (text.empty()) {
    const bool many = o.device == DeviceKind::simulated && o.ranks > kMany;
    return many ? std::vector{0, 1, o.ranks - 1} : std::vector<int>{};
  }
  if (o.trace.empty()) throw bad("--trace-ranks: needs --trace DIR");
  const auto wrong = [&] {
    return bad(fmt::format("--trace-ranks {}: write numbers from 0 to {}, as 0,7-9, or all", text,
                           o.ranks - 1));
  };
  std::vector<int> ranks;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(part.size());
    if (rest == ",") throw wrong();
    if (!rest.empty()) rest.remove_prefix(1);
    const std::size_t dash = part.find('-');
    int first = 0, last = 0;
    if (!whole_number(part.substr(0, dash), first)) throw wrong();
    last = first;
    if (dash != std::string_view::npos && !whole_number(part.substr(dash + 1), last)) throw wrong();
    if (first > last || last >= o.ranks) throw wrong();
    for (int rank = first; rank <= last; ++rank) ranks.push_back(rank);
  }
  return ranks;
}

// A simulated device holds no values.
void check_nothing_stored(const Options& o) {
  const std::array<std::pair<const char*, bool>, 5> asked = {
      {{"--save", !o.save.empty()},
       {"--save-initial", !o.save_initial.empty()},
       {"--dump-state", !o.dump_state.empty()},
       {"--trace-values", o.trace_values},
       {"--data", !o.data.empty()}}};
  for (const auto& [option, given] : asked) {
    if (!given) continue;
    throw bad(
        fmt::format("{}: a simulated device stores and reads no values; leave it out, or "
                    "use another --device",
                    option));
  }
}

void check(const Options& o, bool mpi) {
  const auto at_least = [](const char* option, double value, double least) {
    if (!(value >= least) || !std::isfinite(value))
      throw bad(fmt::format("{} {}: must be at least {}", option, value, least));
  };
  const auto at_most = [](const char* option, double value, double most) {
    if (value > most) throw bad(fmt::format("{} {}: must be at most {}", option, value, most));
  };
  at_least("--ranks", o.ranks, 1);
  const bool simulated = o.device == DeviceKind::simulated;
  if (simulated && mpi) {
    throw bad(
        "--device simulated: all ranks are simulated by one process; start it without mpirun, with "
        "--ranks");
  }
  if (simulated) at_most("--ranks", o.ranks, kMostSimulatedRanks);
  const int most_ranks = mpi ? o.batch : simulated ? kMostSimulatedRanks : kMostThreads;
  if (!mpi && !simulated && o.ranks > kMostThreads) {
    throw bad(
        fmt::format("--ranks {}: at most {} ranks are threads of one process; for more, "
                    "start processes: mpirun -n {} {}; or --device simulated",
                    o.ranks, kMostThreads, o.ranks, o.program));
  }
  at_least("--layers", o.model.layers, 1);
  at_least("--heads", o.model.heads, 1);
  at_least("--channels", o.model.channels, 1);
  at_least("--context", o.model.context, 1);
  at_least("--vocab", o.model.vocab, 2);
  if (!simulated && o.model.vocab > 65536)
    throw bad(fmt::format("--vocab {}: token ids have 16 bits, so at most 65536", o.model.vocab));
  at_least("--batch", o.batch, 1);
  at_least("--iterations", o.iterations, 1);
  at_least("--learning-rate", o.learning_rate, 0);
  at_least("--warmup", o.warmup, 0);
  at_least("--clip", o.clip, 0);
  at_least("--weight-decay", o.weight_decay, 0);
  at_least("--threads", o.threads, 1);
  at_least("--trace-iterations", o.trace_iterations, 0);
  at_least("--loss-scale", o.loss_scale, 1);
  at_least("--loss-scale-window", o.loss_scale_window, 1);
  at_least("--timeout", o.timeout, 0.1);
  at_most("--layers", o.model.layers, kMostLayers);
  at_most("--channels", o.model.channels, kMostChannels);
  at_most("--context", o.model.context, kMostContext);
  at_most("--vocab", o.model.vocab, kMostTokenIds);
  at_most("--batch", o.batch, kMostBatch);
  at_most("--threads", o.threads, 1024);
  at_most("--timeout", o.timeout, 1e6);
  if (o.model.heads > o.model.channels) {
    throw bad(fmt::format("--heads {}: at most one per channel; use --heads {} or --channels {}",
                          o.model.heads, o.model.channels, o.model.heads));
  }
  if (o.model.channels % o.model.heads != 0) {
    const int per_head = o.model.channels / o.model.heads;
    throw bad(fmt::format("--channels {}: {} heads do not divide it; use --channels {} or {}",
                          o.model.channels, o.model.heads, per_head * o.model.heads,
                          (per_head + 1) * o.model.heads));
  }
  if (o.batch % o.ranks != 0) {
    throw bad(fmt::format("--batch {}: {} ranks do not divide it; {}", o.batch, o.ranks,
                          nearest_that_works(o.batch, o.ranks, most_ranks, mpi)));
  }
  const std::int64_t tokens = std::int64_t{o.batch} / o.ranks * o.model.context;
  if (tokens > kMostTokens) {
    throw bad(
        fmt::format("--batch {} --context {}: {} tokens per rank, at most {}; use a smaller "
                    "batch or more ranks",
                    o.batch, o.model.context, tokens, kMostTokens));
  }
  const double log2_scale = std::log2(o.loss_scale);
  if (log2_scale != std::floor(log2_scale) || log2_scale > 24)
    throw bad(fmt::format("--loss-scale {}: must be a power of two up to 2^24", o.loss_scale));
  if (o.fp32_grads && o.dtype == Dtype::fp32)
    throw bad("--fp32-grads: with --dtype fp32 the gradients are fp32 already; leave it out");
  check_collectives(o, mpi);
  if ((o.overflow_rank >= o.ranks) || (o.overflow_rank < -1))
    throw bad(fmt::format("--overflow-at: there is no rank {} of {}", o.overflow_rank, o.ranks));
  if (o.overflow_iteration >= o.iterations) {
    throw bad(fmt::format("--overflow-at: there is no iteration {} of {}, counted from 0",
                          o.overflow_iteration, o.iterations));
  }
  if (o.trace_values && o.trace.empty()) throw bad("--trace-values: needs --trace DIR");
  if (simulated) check_nothing_stored(o);
  check_writable("--json", o.json, false);
  check_writable("--save", o.save, false);
  check_writable("--save-initial", o.save_initial, false);
  check_writable("--trace", o.trace, true);
  check_writable("--dump-state", o.dump_state, true);
  const std::array<std::pair<const char*, const std::string*>, 3> files = {
      {{"--json", &o.json}, {"--save", &o.save}, {"--save-initial", &o.save_initial}}};
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (files[i].second->empty() || *files[i].second != *files[j].second) continue;
      throw bad(fmt::format("{} and {}: both write {}; name two files", files[j].first,
                            files[i].first, *files[i].second));
    }
  }
}

}  // namespace

std::string_view to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::cuda:
      return "cuda";
    case DeviceKind::simulated:
      return "simulated";
    case DeviceKind::automatic:
      return "auto";
  }
  return "unknown";
}

void check_collectives(const Options& o, bool mpi, const std::string& no_gpu) {
  if (o.collectives == Algorithm::library && o.device == DeviceKind::simulated) {
    throw bad(
        "--collectives library: a simulated cluster has no library; use ring (which NCCL's ring "
        "resembles) or direct");
  }
  if (o.collectives != Algorithm::library || o.device != DeviceKind::cpu || mpi) return;
  const std::string chosen =
      no_gpu.empty() ? "" : fmt::format("--device auto chose the CPU ({}), where ", no_gpu);
  throw bad(
      fmt::format("--collectives library: {}threads have no collectives of their own; use ring or "
                  "direct, or start the program with mpirun",
                  chosen));
}

Parsed parse_options(int argc, const char* const* argv, int mpi_processes) {
  Parsed parsed;
  Options& o = parsed.options;
  o.program = std::filesystem::path(argc > 0 ? argv[0] : "zero").filename().string();
  std::string budget, overflow, seed = std::to_string(o.seed), chunk, trace_ranks, preset;
  SimulationArguments simulation;

  CLI::App app(kAbout, o.program);
  app.footer(fmt::format(fmt::runtime(kExamples), o.program));
  app.get_formatter()->column_width(34);
  app.set_version_flag("--version", "ZeRO Steps 0.1");
  app.option_defaults()->always_capture_default();

  const std::map<std::string, Dtype> dtypes = {
      {"fp32", Dtype::fp32}, {"fp16", Dtype::fp16}, {"bf16", Dtype::bf16}};
  const std::map<std::string, Algorithm> algorithms = {
      {"ring", Algorithm::ring}, {"direct", Algorithm::direct}, {"library", Algorithm::library}};
  const std::map<std::string, DeviceKind> devices = {{"auto", DeviceKind::automatic},
                                                     {"cpu", DeviceKind::cpu},
                                                     {"cuda", DeviceKind::cuda},
                                                     {"simulated", DeviceKind::simulated}};
  std::string dtype = "fp16", collectives = "ring", device = "cpu";

  auto* ranks = app.add_option("--ranks", o.ranks, "K: how many ranks share the work")
                    ->group("How the work is divided");
  app.add_option("--device", device,
                 "cpu, cuda (NVIDIA GPUs), auto (cuda where there is a GPU, else cpu), or "
                 "simulated: no values, only bytes and time")
      ->group("How the work is divided");
  app.add_option("--collectives", collectives,
                 "ring, direct, or library (MPI's or NCCL's own): who adds in which order")
      ->group("How the work is divided");
  app.add_option("--threads", o.threads,
                 "threads per rank for operators on the CPU; another number may give other bits")
      ->group("How the work is divided");
  app.add_option(
         "--chunk", chunk,
         "elements of a message: 65536; between GPUs, and of large simulated models, 1048576")
      ->group("How the work is divided");
  app.add_option("--timeout", o.timeout, "seconds that a rank waits for another")
      ->group("How the work is divided");

  app.add_option("--model", preset, model_names())->group("The model");
  app.add_option("--layers", o.model.layers, "L: transformer blocks")->group("The model");
  app.add_option("--heads", o.model.heads, "H: attention heads")->group("The model");
  app.add_option("--channels", o.model.channels, "C: width; a multiple of H")->group("The model");
  app.add_option("--context", o.model.context, "T: tokens in a sequence")->group("The model");
  auto* vocab = app.add_option("--vocab", o.model.vocab,
                               "V: 256 for text (bytes), 50257 for .bin files unless given")
                    ->group("The model");
  app.add_option("--seed", seed, "of the initial weights: 0 to 2^64 - 1")->group("The model");

  app.add_option("--data", o.data,
                 "a text file (one token a byte) or llm.c's .bin; default: the text shipped here")
      ->group("Training");
  auto* batch = app.add_option("--batch", o.batch,
                               "sequences per iteration, over all ranks; with --model: one each")
                    ->group("Training");
  auto* iterations = app.add_option("--iterations", o.iterations,
                                    "how many batches it trains on; simulated with --model: 1")
                         ->group("Training");
  app.add_option("--learning-rate", o.learning_rate, "of AdamW, after the warm-up")
      ->group("Training");
  app.add_option("--warmup", o.warmup, "iterations of linear warm-up")->group("Training");
  app.add_option("--clip", o.clip, "largest norm of the whole gradient; 0: no clipping")
      ->group("Training");
  app.add_option("--weight-decay", o.weight_decay, "of matrices")->group("Training");

  app.add_option("--dtype", dtype, "fp16, bf16 or fp32: of parameters, gradients, activations")
      ->group("Numbers");
  app.add_flag("--fp32-grads", o.fp32_grads,
               "keep the fp32 gradient too: 16 instead of 12 optimizer bytes a parameter")
      ->group("Numbers");
  app.add_option("--loss-scale", o.loss_scale, "the first loss scale (fp16)")->group("Numbers");
  app.add_option("--loss-scale-window", o.loss_scale_window,
                 "iterations without overflow until the scale doubles")
      ->group("Numbers");
  app.add_option(
         "--overflow-at", overflow,
         "RANK:ITERATION, both from 0: make this rank's gradients overflow, to see all skip")
      ->group("Numbers");

  app.add_option("--memory-budget", budget, "bytes of each rank's device: 64MiB; default: no limit")
      ->group("Memory");
  app.add_flag("--fill-nan", o.fill_nan, "debugging: fill fresh and freed memory with NaN")
      ->group("Memory");

  app.add_option("--trace", o.trace, "folder for the trace, one file per rank")->group("Output");
  app.add_option("--trace-iterations", o.trace_iterations, "how many are traced; 0: all")
      ->group("Output");
  app.add_option("--trace-ranks", trace_ranks,
                 "those that are traced: 0,7-9 or all; default: all, of more than 16 simulated "
                 "ones 0, 1 and the last")
      ->group("Output");
  app.add_flag("--trace-values", o.trace_values, "with a small sample of the values")
      ->group("Output");
  app.add_option("--json", o.json, "file for the measured numbers and their formulas")
      ->group("Output");
  app.add_option("--save", o.save, "file for the trained model: safetensors, GPT-2's names")
      ->group("Output");
  app.add_option("--save-initial", o.save_initial, "the same for the initial weights")
      ->group("Output");
  app.add_option("--dump-state", o.dump_state, "folder for every rank's final state, raw")
      ->group("Output");
  app.add_flag("--quiet", o.quiet, "print errors only")->group("Output");
  add_simulation_options(app, simulation);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    parsed.stop = true;
    app.exit(success);
    return parsed;
  } catch (const CLI::ConversionError& error) {
    const std::string what = error.what();  // "Could not convert: --ranks = 3x"
    throw bad(fmt::format("{}: no number that this option takes; see {} --help",
                          what.substr(what.find("--")), o.program));
  } catch (const CLI::ParseError& error) {
    throw bad(fmt::format("{}; see {} --help", error.what(), o.program));
  }

  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) throw bad(fmt::format("{}: needs a value", option->get_name()));
    }
  }

  const auto choose = [](const auto& choices, const char* option, const std::string& value) {
    const auto found = choices.find(value);
    if (found != choices.end()) return found->second;
    std::string names;
    for (const auto& [name, unused] : choices) names += (names.empty() ? "" : ", ") + name;
    throw bad(fmt::format("{} {}: choose one of {}", option, value, names));
  };
  o.dtype = choose(dtypes, "--dtype", dtype);
  o.collectives = choose(algorithms, "--collectives", collectives);
  o.device = choose(devices, "--device", device);
  if (!whole_number(seed, o.seed))
    throw bad(fmt::format("--seed {}: write a whole number from 0 to 2^64 - 1", seed));
  if (!chunk.empty() && (!whole_number(chunk, o.chunk) || o.chunk < 1 || o.chunk > kMostChunk)) {
    throw bad(fmt::format("--chunk {}: write a whole number from 1 to {}", chunk, kMostChunk));
  }
  if (!preset.empty()) {
    const ModelPreset* found = find_model_preset(preset);
    if (!found) throw bad(fmt::format("--model {}: choose one of {}", preset, model_names()));
    o.model = found->config;
    // What the command line says beside it counts.
    const std::string changed = keep_given(app, {{"--layers", &o.model.layers},
                                                 {"--heads", &o.model.heads},
                                                 {"--channels", &o.model.channels},
                                                 {"--context", &o.model.context},
                                                 {"--vocab", &o.model.vocab}});
    o.model_note = changed.empty() ? found->note : "its shape, but for " + changed;
    o.model_note = fmt::format("{}: {}", found->key, o.model_note);
  }
  if (vocab->count() == 0 && preset.empty() && o.data.ends_with(".bin"))
    o.model.vocab = 50257;  // GPT-2's tokenizer
  if (!budget.empty()) {
    try {
      o.memory_budget = parse_bytes(budget);
    } catch (const std::invalid_argument& error) {
      throw bad(fmt::format("--memory-budget: {}", error.what()));
    }
  }
  if (!overflow.empty()) {
    const std::size_t colon = overflow.find(':');
    const bool two_numbers =
        colon != std::string::npos &&
        whole_number(std::string_view(overflow).substr(0, colon), o.overflow_rank) &&
        whole_number(std::string_view(overflow).substr(colon + 1), o.overflow_iteration);
    if (!two_numbers)
      throw bad(fmt::format("--overflow-at {}: write RANK:ITERATION, as 1:3", overflow));
  }
  if (mpi_processes > 0) {
    if (ranks->count() > 0 && o.ranks != mpi_processes) {
      throw bad(
          fmt::format("--ranks {}: mpirun started {} processes; leave --ranks out, or start "
                      "mpirun -n {}",
                      o.ranks, mpi_processes, o.ranks));
    }
    o.ranks = mpi_processes;
  }
  if (!preset.empty() && batch->count() == 0) o.batch = o.ranks;
  if (!preset.empty() && iterations->count() == 0 && o.device == DeviceKind::simulated)
    o.iterations = 1;
  check(o, mpi_processes > 0);
  read_simulation(app, simulation, o);
  o.trace_ranks = read_trace_ranks(trace_ranks, o);
  return parsed;
}

}  // namespace zero
