// Prints how fast the programs and the collectives are on this machine. Not a test: it asserts
// nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>

#include "common/comm/world.h"
#include "tests/benchmark/collectives.h"
#include "tests/benchmark/stages.h"
#include "tests/support/process.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

const std::vector<Shape> kShapes = {
    {"A", 4, 4, 128, 64, 256, 4, 20},
    {"B", 6, 6, 384, 256, 256, 4, 5},
    {"C", 12, 12, 768, 64, 50257, 4, 3},
};

constexpr const char* kAbout =
    "Times the stages (fp32, fp16, bf16; one thread per rank) and the collectives.\n"
    "Programs that are compared run in turn, several rounds; a time is the median of the rounds'\n"
    "medians, a ratio is the median of the rounds' ratios. trace: how much longer an iteration\n"
    "takes when all of it is traced. tracker: the tracker's own time, in % of an iteration "
    "(fp16).\n"
    "Bus bandwidth is what nccl-tests calls so: bytes / time x 2(K-1)/K for all_reduce, (K-1)/K\n"
    "for the others.";

struct Choice {
  std::vector<std::string> shapes = {"A", "B"};
  std::vector<int> ranks = {1, 2};
  int rounds = 5;
  bool quick = false;
  std::string pytorch;
  std::vector<std::int64_t> mebibytes = {1, 16, 64};
  bool only_collectives = false, only_stages = false;
};

void print(const std::vector<Bandwidth>& results) {
  for (const Bandwidth& b : results) {
    fmt::print("  {:16}{:20}{:>6} MiB{:>10.2f} GB/s\n", b.name, b.how, b.bytes / kMebibyte,
               b.gigabytes_per_second);
  }
  std::fflush(stdout);
}

void print_collectives(const Choice& choice, int ranks) {
  fmt::print("Collectives, {} ranks, fp32: bus bandwidth\n", ranks);
  for (const std::int64_t size : choice.mebibytes) print(on_threads(ranks, size * kMebibyte));
  // The same program once more, under mpirun, as it is fastest on one machine.
  std::vector<std::string> command = mpirun(ranks);
  for (const char* word : {"--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "self,vader",
                           "--mca", "btl_vader_single_copy_mechanism", "none"})
    command.push_back(word);
  command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  command.push_back("--mebibytes");
  for (const std::int64_t size : choice.mebibytes) command.push_back(std::to_string(size));
  try {
    const Finished finished = run(command, {.seconds = 300, .directory = "", .environment = {}});
    fmt::print("{}", finished.status == 0 ? finished.out : finished.describe());
  } catch (const std::exception& error) {
    fmt::print("  MPI: not measured ({})\n", error.what());
  }
  for (const std::int64_t size : choice.mebibytes) {
    fmt::print("  {:16}{:20}{:>6} MiB{:>10.2f} GB/s each\n", "memcpy",
               fmt::format("{} threads at once", ranks), size,
               memcpy_gigabytes_per_second(ranks, size * kMebibyte));
  }
  fmt::print("\n");
}

int benchmark(int argc, char** argv) {
  Choice choice;
  CLI::App app(kAbout, "benchmark");
  app.add_option("--shapes", choice.shapes,
                 "A (L4 H4 C128 T64 V256), B (L6 H6 C384 T256 V256), C (L12 H12 C768 T64 V50257: "
                 "163M parameters, 6 GiB, minutes)")
      ->capture_default_str();
  app.add_option("--ranks", choice.ranks, "numbers of ranks")->capture_default_str();
  app.add_option("--rounds", choice.rounds, "how often each program runs")->capture_default_str();
  app.add_option("--pytorch", choice.pytorch,
                 "a python3 that has PyTorch, as /usr/bin/python3: the same step in PyTorch too");
  app.add_option("--mebibytes", choice.mebibytes, "sizes for the collectives")
      ->capture_default_str();
  app.add_flag("--quick", choice.quick, "shape A only, two rounds, 16 MiB");
  app.add_flag("--only-collectives", choice.only_collectives, "no stages");
  app.add_flag("--only-stages", choice.only_stages, "no collectives");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (under_mpi()) {
    for (const std::int64_t size : choice.mebibytes) {
      const std::vector<Bandwidth> results = on_mpi(size * kMebibyte);
      if (mpi_rank() == 0) print(results);
    }
    return 0;
  }
  if (choice.quick) {
    choice.shapes = {"A"};
    choice.rounds = 2;
    choice.mebibytes = {16};
  }
  for (const Shape& shape : kShapes) {
    const bool wanted =
        std::find(choice.shapes.begin(), choice.shapes.end(), shape.name) != choice.shapes.end();
    if (!wanted || choice.only_collectives) continue;
    for (const int ranks : choice.ranks)
      print_stages({shape, ranks, choice.rounds, choice.pytorch});
  }
  for (const int ranks : choice.ranks)
    if (ranks > 1 && !choice.only_stages) print_collectives(choice, ranks);
  return 0;
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  try {
    return zero::benchmark(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "benchmark: {}\n", error.what());
    return 1;
  }
}
