// The ZeRO paper's and the lecture's tables, reproduced by running the stage programs: simulated,
// with rank 0 standing for all, on GPUs with room for everything unless a test says otherwise.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "paper_vectors.h"
#include "tests/support/files.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

constexpr double kGB = 1e9, kBillion = 1e9;

// What `program` wrote with --json after one iteration; null where its memory was too small.
json simulate(const std::string& program, const Words& options, const std::string& memory) {
  const TemporaryFolder folder;
  Words words = {program,         "--device",     "simulated", "--representative",
                 "--gpu-memory",  memory,         "--quiet",   "--json",
                 folder / "json", "--iterations", "1"};
  words.insert(words.end(), options.begin(), options.end());
  const Finished finished = run(words);
  INFO(finished.describe());
  if (finished.err.find("out of memory") != std::string::npos) return {};
  REQUIRE(finished.status == 0);
  return json::parse(read_whole_file(folder / "json"));
}

json simulate_stage(int stage, const Words& options, const std::string& memory = "20TB") {
  return simulate(stage_path(kStages.at(static_cast<std::size_t>(stage))), options, memory);
}

// Bytes that a rank holds at the end.
std::int64_t model_states(const json& result) {
  const json& memory = result.at("ranks").at(0).at("memory");
  std::int64_t bytes = 0;
  for (const char* category : {"parameters", "gradients", "optimizer_states"})
    bytes += memory.at(category).at("live").get<std::int64_t>();
  return bytes;
}

enum class Last { rounded, cut_off };  // the last digit

int digits_of(const std::string& printed) {
  const std::size_t point = printed.find('.');
  return point == std::string::npos ? 0 : static_cast<int>(printed.size() - point) - 1;
}

// In whole numbers, so that a half is a half: 10^9 bytes, or parameters, with so many digits.
std::string giga(std::int64_t number, int digits, Last last) {
  std::int64_t unit = 1'000'000'000, parts = 1;
  for (int i = 0; i < digits; ++i) {
    unit /= 10;
    parts *= 10;
  }
  const std::int64_t units = (number + (last == Last::rounded ? unit / 2 : 0)) / unit;
  if (digits == 0) return fmt::format("{}", units);
  return fmt::format("{}.{:0{}}", units / parts, units % parts, digits);
}

// A model of N parameters, to six digits: what is left after its blocks is vocabulary.
Words model_of(double parameters) {
  struct Shape {
    double above;  // this many parameters
    int layers, heads, channels, context;
  };
  constexpr std::array<Shape, 4> kShapes = {
      {{9e11, 127, 160, 25600, 256},  // Megatron's 1T, less one layer
       {9e10, 96, 96, 12288, 2048},   // GPT-3
       {6e9, 36, 32, 4096, 1024},
       {0, 48, 25, 1600, 1024}}};  // GPT-2 XL
  for (const Shape& shape : kShapes) {
    if (parameters < shape.above) continue;
    const double C = shape.channels;
    const double rest = parameters - shape.layers * (12 * C * C + 13 * C) - (shape.context + 2) * C;
    const auto vocab = std::llround(rest / (2 * C));  // the embedding's and the head's
    return words_of(fmt::format("--layers {} --heads {} --channels {} --context {} --vocab {}",
                                shape.layers, shape.heads, shape.channels, shape.context, vocab));
  }
  throw std::logic_error("no such model");
}

Words on_gpus(Words words, int gpus) {
  words.insert(words.end(), {"--ranks", std::to_string(gpus), "--batch", std::to_string(gpus)});
  return words;
}

void check_readme_says(const std::string& line) {
  INFO(line);
  static const std::string readme = read_whole_file(source_path("README.md"));
  CHECK(readme.find("\n" + line + "\n") != std::string::npos);
}

}  // namespace

TEST_CASE("the stage programs hold what all 54 cells of the ZeRO paper's table 1 say") {
  std::map<int, std::string> lines;  // of the README, by the number of GPUs
  int only_cut_off = 0, only_rounded = 0;
  for (const paper::Table1Cell& cell : paper::kTable1) {
    INFO(cell.model << ", " << cell.gpus << " GPUs, stage " << cell.stage);
    const json result = simulate_stage(cell.stage, on_gpus({"--model", cell.model}, cell.gpus));
    REQUIRE(result.is_object());
    const std::int64_t bytes = model_states(result);
    CHECK(static_cast<double>(bytes) / kGB == Approx(cell.exact_gb).epsilon(2e-6));
    const int digits = digits_of(cell.printed_gb);
    const std::string rounded = giga(bytes, digits, Last::rounded);
    const std::string cut_off = giga(bytes, digits, Last::cut_off);
    CHECK((paper::is_cut_off(cell) ? cut_off : rounded) == cell.printed_gb);
    only_cut_off += rounded != cell.printed_gb;
    only_rounded += cut_off != cell.printed_gb;
    std::string& line = lines[cell.gpus];
    line += " | " + rounded;
    if (rounded != cell.printed_gb) line += fmt::format(" ({})", cell.printed_gb);
  }
  // Neither rule alone would do.
  CHECK(only_cut_off == 8);
  CHECK(only_rounded == 7);
  for (const auto& [gpus, line] : lines) check_readme_says(fmt::format("| {}{} |", gpus, line));
}

TEST_CASE("the stage programs hold what the paper's figure 1 and the lecture's tables say") {
  for (const paper::StatesRow& row : paper::kStates) {
    std::string line = fmt::format("| {} | {} | {}", row.source, row.gpus, 4 + row.optimizer_bytes);
    for (std::size_t stage = 0; stage < kStages.size(); ++stage) {
      INFO(row.source << ", " << row.gpus << " GPUs, stage " << stage);
      Words options = on_gpus(model_of(row.parameters), row.gpus);
      if (row.optimizer_bytes == 16) options.push_back("--fp32-grads");
      const json result = simulate_stage(static_cast<int>(stage), options);
      REQUIRE(result.is_object());
      CHECK(result.at("num_parameters").get<double>() == Approx(row.parameters).epsilon(2e-6));
      const std::string& printed = row.printed_gb.at(stage);
      const std::string ours = giga(model_states(result), digits_of(printed), Last::rounded);
      CHECK(ours == printed);
      line += " | " + ours;
    }
    check_readme_says(line + " |");
  }
}

namespace {

// One token per GPU, so that next to nothing but model states is there.
Words layers_of_table_2(int layers) {
  return on_gpus(
      words_of(fmt::format("--layers {} --channels 1408 --heads 1 --context 1 --vocab 2", layers)),
      64);
}

// The most parameters for which `fits`, which fits(1) does, says so: layer by layer.
template <class Fits>
std::int64_t largest(const Fits& fits) {
  int good = 1, bad = 10'000;  // layers
  std::int64_t parameters = 0;
  while (bad - good > 1) {
    const int middle = (good + bad) / 2;
    const std::int64_t found = fits(middle);
    (found > 0 ? good : bad) = middle;
    if (found > 0) parameters = found;
  }
  return parameters;
}

constexpr double kTable2Memory = 32 * kGB;

// As the formula says it: bytes of model states per parameter.
double states_per_parameter(std::size_t stage) {
  constexpr std::array<double, 4> kBytes = {16, 4 + 12.0 / 64, 2 + 14.0 / 64, 16.0 / 64};
  return kBytes.at(stage);
}

}  // namespace

TEST_CASE("the largest models whose states fill 32 GB are those of the paper's table 2") {
  const paper::Table2Row& row = paper::kTable2[0];
  std::string states_alone = "| states alone", in_all = "| and one token's activations, units";
  for (std::size_t stage = 0; stage < kStages.size(); ++stage) {
    INFO("stage " << stage);
    const int number = static_cast<int>(stage);
    const std::int64_t by_states = largest([&](int layers) {
      const json result = simulate_stage(number, layers_of_table_2(layers));
      const bool fits = static_cast<double>(model_states(result)) <= kTable2Memory;
      return fits ? result.at("num_parameters").get<std::int64_t>() : 0;
    });
    const std::int64_t by_running = largest([&](int layers) {
      const json result = simulate_stage(number, layers_of_table_2(layers), "32GB");
      return result.is_null() ? 0 : result.at("num_parameters").get<std::int64_t>();
    });
    const std::string& printed = row.printed.at(stage);
    CHECK(giga(by_states, digits_of(printed), Last::rounded) == printed);
    CHECK(static_cast<double>(by_states) / kBillion ==
          Approx(kTable2Memory / states_per_parameter(stage) / kBillion).margin(0.025));
    CHECK(by_running <= by_states);
    states_alone += " | " + giga(by_states, digits_of(printed), Last::rounded);
    in_all += " | " + giga(by_running, stage == 3 ? 1 : 2, Last::rounded);
  }
  check_readme_says(states_alone + " |");
  check_readme_says(in_all + " |");
}

TEST_CASE("the other rows of table 2 are the degree of model parallelism times its first row") {
  for (const paper::Table2Row& row : paper::kTable2) {
    INFO("MP " << row.model_parallel);
    CHECK(row.gpus == 64 * row.model_parallel);
    for (std::size_t stage = 0; stage < row.printed.size(); ++stage) {
      const std::string& printed = row.printed[stage];
      const double first = std::stod(paper::kTable2[0].printed[stage]);
      CHECK(std::stod(printed) == Approx(row.model_parallel * first));
      // Rounded only once, and so up to MP times half a digit apart.
      const double exact = row.model_parallel * kTable2Memory / states_per_parameter(stage);
      CHECK(exact / kBillion == Approx(std::stod(printed)).margin(0.05 * row.model_parallel));
    }
  }
  // What the README says of the last row.
  CHECK(fmt::format("{:.1f}", 16 * kTable2Memory / states_per_parameter(1) / kBillion) == "122.3");
  CHECK(fmt::format("{:.1f}", 16 * kTable2Memory / states_per_parameter(2) / kBillion) == "230.8");
}

namespace {

// Elements that each rank sends in an iteration, beside what one pass over N sends: its (K-1)/K.
double passes(const json& result) {
  const std::int64_t K = result.at("world_size"), N = result.at("num_parameters");
  const std::int64_t shard = (N + K - 1) / K;  // of the padded N
  const json& rank = result.at("ranks").at(0);
  CHECK(rank.at("sent_bytes_per_iteration") == rank.at("sent_bytes_per_iteration_least"));
  const std::int64_t bytes = rank.at("sent_bytes_per_iteration");
  return static_cast<double>(bytes) / static_cast<double>(2 * shard * (K - 1));
}

// 12,362 parameters, which neither 3 nor 5 divide.
Words small_model(int gpus) {
  return on_gpus(
      words_of("--layers 2 --heads 2 --channels 14 --context 7 --vocab 256 --dtype fp16"), gpus);
}

}  // namespace

TEST_CASE("the stage programs send the passes over N that the paper's section 7 says") {
  const int gpus = GENERATE(2, 3, 5, 64);
  for (const bool large : {false, true}) {
    const Words model = large ? on_gpus({"--model", "7.5b"}, gpus) : small_model(gpus);
    double ddp = 0;
    for (std::size_t stage = 0; stage < paper::kTraffic.size(); ++stage) {
      const paper::Traffic& traffic = paper::kTraffic[stage];
      INFO(traffic.stage << ", " << gpus << " GPUs, " << (large ? "7.5B" : "small"));
      const double found = passes(simulate(stage_path(traffic.stage), model, "20TB"));
      CHECK(found == traffic.passes);
      if (stage == 0) ddp = found;
      CHECK(found / ddp == traffic.relative_to_ddp);
    }
  }
}

TEST_CASE("ZeRO-1 with an all_reduce before its all_gather sends three passes, not two") {
  const int gpus = GENERATE(3, 5, 64);
  CHECK(passes(simulate(ZERO_WRONG_ZERO1, small_model(gpus), "20TB")) == paper::kWrongZero1Passes);
}

}  // namespace zero
