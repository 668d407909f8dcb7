// Prints how fast the programs and the operators are on this machine's first GPU, as tables in
// Markdown, beside what the card does at best. Not a test: it asserts no time.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>

#include "common/memory/bytes.h"
#include "common/model/model.h"
#include "common/train/gpu.h"
#include "tests/gpu/ceilings.h"
#include "tests/gpu/iterations.h"
#include "tests/gpu/operators.h"

namespace zero {
namespace {

constexpr const char* kAbout =
    "Times, on the first GPU and in bf16: iterations of GPT-2's 124M shape through the stage\n"
    "program ddp, beside PyTorch's; the bytes per second of the operators whose limit is memory,\n"
    "beside a copy; and the operations per second of the matrix products, beside the best of a "
    "few\n"
    "large square ones. Bytes are those that must at least be read and written.";

struct Work {
  Shape shape;
  std::vector<int> batches;
  Sizes sizes;
  Pace pace;
  std::int64_t copied;
  std::vector<int> squares;
};

const Work kFull = {
    .shape = {"GPT-2", 12, 12, 768, 1024, 50257, 0, 12},
    .batches = {8, 4},
    .sizes = {.elements = 1 << 28,
              .rows = 1 << 18,
              .sequences = 64,
              .B = 8,
              .T = 1024,
              .C = 768,
              .H = 12,
              .V = 50257},
    .pace = {.seconds = 0.02, .samples = 5, .most_calls = 1000},
    .copied = 1 << 30,
    .squares = {4096, 8192, 12288},
};

// To see that everything runs, where an emulated GPU takes the place of a real one.
const Work kTiny = {
    .shape = {"tiny", 1, 2, 16, 8, 300, 0, 2},
    .batches = {2},
    .sizes = {.elements = 10'000,
              .rows = 33,
              .sequences = 3,
              .B = 2,
              .T = 17,
              .C = 24,
              .H = 2,
              .V = 301},
    .pace = {.seconds = 0, .samples = 1, .most_calls = 1},
    .copied = 1 << 16,
    .squares = {16, 32},
};

// "84 %" of `ceiling`.
std::string percent(double value, double ceiling) {
  return fmt::format("{:.0f} %", value / ceiling * 100);
}

// `unit` is a billion bytes or a trillion operations per second.
void print(const std::vector<Timed>& all, const char* heading, double unit, double ceiling) {
  fmt::print("| operator | size | ms | {} | of the ceiling |\n|---|---|---|---|---|\n", heading);
  for (const Timed& timed : all) {
    if (!timed.why.empty()) {
      fmt::print("| {} | {} | {} |  |  |\n", timed.name, timed.size, timed.why);
      continue;
    }
    const double rate = timed.amount / timed.seconds;
    fmt::print("| {} | {} | {:.3f} | {:.0f} | {} |\n", timed.name, timed.size, timed.seconds * 1e3,
               rate / unit, percent(rate, ceiling));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

void print_operators(const Work& work) {
  const Place place;
  MemoryTracker tracker(place);
  const std::unique_ptr<Device> device = gpu_module().make_device(tracker, nullptr, false, 0, 0);
  const double copied = copied_bytes_per_second(work.copied, work.pace);
  fmt::print("Bytes: a copy of {} within the GPU's memory reads and writes {:.0f} GB/s.\n\n",
             format_bytes(work.copied), copied / 1e9);
  print(time_memory_bound(*device, work.sizes, work.pace), "GB/s", 1e9, copied);

  double best = 0;
  std::string each;
  for (const int n : work.squares) {
    const double rate = product_operations_per_second(n, work.pace);
    best = std::max(best, rate);
    each += fmt::format("{}{} x {}: {:.0f}", each.empty() ? "" : ", ", n, n, rate / 1e12);
  }
  fmt::print("Products: cuBLAS's of bf16 matrices, in TFLOP/s: {}.\n\n", each);
  print(time_products(*device, work.sizes, work.pace), "TFLOP/s", 1e12, best);
}

// The head is not tied to the embedding, so GPT-2's 124M shape has more parameters here.
void print_shape(const Shape& shape) {
  ModelConfig config;
  config.layers = shape.layers;
  config.heads = shape.heads;
  config.channels = shape.channels;
  config.context = shape.context;
  config.vocab = shape.vocab;
  fmt::print(
      "Iterations in bf16: {} layers, {} heads, {} channels, {} tokens, vocabulary {}, head not "
      "tied: {} parameters.\n\n",
      shape.layers, shape.heads, shape.channels, shape.context, with_commas(shape.vocab),
      with_commas(Model(config, 1, 1).num_parameters()));
}

int benchmark(int argc, char** argv) {
  IterationsTable iterations;
  iterations.stage =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../stages/ddp";
  bool tiny = false, only_operators = false, only_iterations = false;
  CLI::App app(kAbout, "gpu_benchmark");
  app.add_option("--pytorch", iterations.python, "a python3 that has PyTorch for this GPU");
  app.add_option("--script", iterations.script, "where tests/benchmark/pytorch_step.py is")
      ->default_val("tests/benchmark/pytorch_step.py");
  app.add_option("--stage", iterations.stage, "the program ddp; default: ../stages/ddp");
  app.add_flag("--tiny", tiny, "small shapes, once each: to see that it runs");
  app.add_flag("--only-operators", only_operators, "no iterations");
  app.add_flag("--only-iterations", only_iterations, "no operators");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Work& work = tiny ? kTiny : kFull;
  gpu_module().count();  // says what is missing, if there is none
  fmt::print("GPU: {}\n\n", gpu_module().describe(0));
  if (!only_iterations) print_operators(work);
  if (only_operators) return 0;
  iterations.shape = work.shape;
  iterations.batches = work.batches;
  print_shape(work.shape);
  return print_iterations(iterations) ? 0 : 1;
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  try {
    return zero::benchmark(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gpu_benchmark: {}\n", error.what());
    return 1;
  }
}
