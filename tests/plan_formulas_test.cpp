// plan's formulas against the numbers that the ZeRO paper and the lecture print.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "catch.h"
#include "common/model/activations.h"
#include "stages/plan/formulas.h"
#include "stages/plan/page.h"
#include "stages/plan/search.h"
#include "stages/plan/units.h"

namespace zero {
namespace {

constexpr double kGB = 1e9;

std::int64_t states(int stage, double parameters, int gpus, int optimizer_bytes) {
  return evaluate(planned_stages()[static_cast<std::size_t>(stage)].form,
                  static_cast<std::int64_t>(parameters), gpus, Dtype::fp16, optimizer_bytes)
      .model_states;
}

// `exact` with as many digits after the point as `printed` has: rounded half up, or cut off.
std::vector<std::string> rounded_and_truncated(double exact, const std::string& printed) {
  const std::size_t point = printed.find('.');
  const int digits = point == std::string::npos ? 0 : static_cast<int>(printed.size() - point) - 1;
  const double unit = std::pow(10.0, digits);
  return {fmt::format("{:.{}f}", std::floor(exact * unit + 0.5) / unit, digits),
          fmt::format("{:.{}f}", std::floor(exact * unit) / unit, digits)};
}

bool printed_so(double exact, const std::string& printed) {
  const auto texts = rounded_and_truncated(exact, printed);
  return texts[0] == printed || texts[1] == printed;
}

struct Cell {
  double parameters;
  int gpus, stage;
  const char* printed;
  double exact;  // GB
};

// Rajbhandari et al. 2020, table 1: GB per device, P_os (1), P_os+g (2) and P_os+g+p (3).
constexpr Cell kTable1[] = {{7.5e9, 1, 1, "120", 120.0},
                            {7.5e9, 1, 2, "120", 120.0},
                            {7.5e9, 1, 3, "120", 120.0},
                            {7.5e9, 4, 1, "52.5", 52.5},
                            {7.5e9, 4, 2, "41.3", 41.25},
                            {7.5e9, 4, 3, "30", 30.0},
                            {7.5e9, 16, 1, "35.6", 35.625},
                            {7.5e9, 16, 2, "21.6", 21.5625},
                            {7.5e9, 16, 3, "7.5", 7.5},
                            {7.5e9, 64, 1, "31.4", 31.40625},
                            {7.5e9, 64, 2, "16.6", 16.640625},
                            {7.5e9, 64, 3, "1.88", 1.875},
                            {7.5e9, 256, 1, "30.4", 30.3515625},
                            {7.5e9, 256, 2, "15.4", 15.41015625},
                            {7.5e9, 256, 3, "0.47", 0.46875},
                            {7.5e9, 1024, 1, "30.1", 30.087890625},
                            {7.5e9, 1024, 2, "15.1", 15.1025390625},
                            {7.5e9, 1024, 3, "0.12", 0.1171875},
                            {128e9, 1, 1, "2048", 2048.0},
                            {128e9, 1, 2, "2048", 2048.0},
                            {128e9, 1, 3, "2048", 2048.0},
                            {128e9, 4, 1, "896", 896.0},
                            {128e9, 4, 2, "704", 704.0},
                            {128e9, 4, 3, "512", 512.0},
                            {128e9, 16, 1, "608", 608.0},
                            {128e9, 16, 2, "368", 368.0},
                            {128e9, 16, 3, "128", 128.0},
                            {128e9, 64, 1, "536", 536.0},
                            {128e9, 64, 2, "284", 284.0},
                            {128e9, 64, 3, "32", 32.0},
                            {128e9, 256, 1, "518", 518.0},
                            {128e9, 256, 2, "263", 263.0},
                            {128e9, 256, 3, "8", 8.0},
                            {128e9, 1024, 1, "513", 513.5},
                            {128e9, 1024, 2, "257", 257.75},
                            {128e9, 1024, 3, "2", 2.0},
                            {1e12, 1, 1, "16000", 16000.0},
                            {1e12, 1, 2, "16000", 16000.0},
                            {1e12, 1, 3, "16000", 16000.0},
                            {1e12, 4, 1, "7000", 7000.0},
                            {1e12, 4, 2, "5500", 5500.0},
                            {1e12, 4, 3, "4000", 4000.0},
                            {1e12, 16, 1, "4750", 4750.0},
                            {1e12, 16, 2, "2875", 2875.0},
                            {1e12, 16, 3, "1000", 1000.0},
                            {1e12, 64, 1, "4187", 4187.5},
                            {1e12, 64, 2, "2218", 2218.75},
                            {1e12, 64, 3, "250", 250.0},
                            {1e12, 256, 1, "4046", 4046.875},
                            {1e12, 256, 2, "2054", 2054.6875},
                            {1e12, 256, 3, "62.5", 62.5},
                            {1e12, 1024, 1, "4011", 4011.71875},
                            {1e12, 1024, 2, "2013", 2013.671875},
                            {1e12, 1024, 3, "15.6", 15.625}};

}  // namespace

TEST_CASE("the formulas give all 54 cells of the ZeRO paper's table 1, rounded or cut off") {
  REQUIRE(std::size(kTable1) == 54);
  for (const Cell& cell : kTable1) {
    const std::int64_t bytes = states(cell.stage, cell.parameters, cell.gpus, 12);
    const double gigabytes = static_cast<double>(bytes) / kGB;
    INFO(cell.parameters << " parameters, " << cell.gpus << " GPUs, stage " << cell.stage << ": "
                         << gigabytes << " GB, printed " << cell.printed);
    // Padding to a multiple of K adds less than K parameters of at most 16 bytes.
    CHECK(gigabytes >= cell.exact);
    CHECK(gigabytes * kGB < cell.exact * kGB + 16 * cell.gpus);
    CHECK(printed_so(gigabytes, cell.printed));
  }
}

TEST_CASE("the formulas give the ZeRO paper's figure 1: 7.5B parameters on 64 GPUs") {
  const double exact[] = {120, 31.40625, 16.640625, 1.875};
  const char* printed[] = {"120", "31.4", "16.6", "1.9"};
  for (int stage = 0; stage < 4; ++stage) {
    const double gigabytes = static_cast<double>(states(stage, 7.5e9, 64, 12)) / kGB;
    CHECK(gigabytes == exact[stage]);
    CHECK(rounded_and_truncated(gigabytes, printed[stage])[0] == printed[stage]);
  }
}

TEST_CASE("the formulas give the ZeRO paper's table 2: the largest model in 32 GB on 64 GPUs") {
  // In billions of parameters; 1T is written 1024. With model parallelism of degree m as many times
  // as much; the paper multiplied what it had rounded.
  const char* one[] = {"2", "7.6", "14.4", "128"};
  const char* sixteen[] = {"32", "121.6", "230.4", "2048"};
  double exact_sixteen[4] = {};
  for (int stage = 0; stage < 4; ++stage) {
    const ClosedForm& form = planned_stages()[static_cast<std::size_t>(stage)].form;
    const std::int64_t most =
        largest_by_states(form, std::int64_t{32} * 1'000'000'000, 64, Dtype::fp16, 12);
    const double billions = static_cast<double>(most) / 1e9;
    INFO("stage " << stage << ": " << billions);
    CHECK(rounded_and_truncated(billions + 1e-7, one[stage])[0] == one[stage]);
    for (const int degree : {1, 2, 4, 8, 16}) {
      const double printed = std::stod(one[stage]) * degree;
      if (degree == 16) CHECK(printed == Approx(std::stod(sixteen[stage])));
      CHECK(billions * degree == Approx(printed).epsilon(0.006));
    }
    exact_sixteen[stage] = billions * 16;
  }
  CHECK(exact_sixteen[1] == Approx(122.27).margin(0.005));
  CHECK(exact_sixteen[2] == Approx(230.76).margin(0.005));
}

TEST_CASE("with M = 16 the formulas give the lecture's 20 bytes a parameter") {
  // LLaMA-3 8B on 4 GPUs: 160, 64, 52, 40 GB.
  const double lecture[] = {160, 64, 52, 40};
  for (int stage = 0; stage < 4; ++stage) {
    CHECK(static_cast<double>(states(stage, 8e9, 4, 16)) == lecture[stage] * kGB);
    // On one GPU nothing is divided: LLaMA-3 8B 160 GB (16 + 16 + 128), GPT-3 3,500 GB
    // (350 + 350 + 2,800).
    CHECK(static_cast<double>(states(stage, 8e9, 1, 16)) == 160 * kGB);
    CHECK(static_cast<double>(states(stage, 175e9, 1, 16)) == 3500 * kGB);
    // With the paper's 16 bytes: GPT-2 1.5B 24 GB, 1T 16,000 GB.
    CHECK(static_cast<double>(states(stage, 1.5e9, 1, 12)) == 24 * kGB);
    CHECK(static_cast<double>(states(stage, 1e12, 1, 12)) == 16000 * kGB);
  }
  const ClosedFormBytes bytes =
      evaluate(planned_stages()[0].form, 8'000'000'000, 1, Dtype::fp16, 16);
  CHECK(bytes.parameters == 16'000'000'000);
  CHECK(bytes.gradients == 16'000'000'000);
  CHECK(bytes.optimizer_states == 128'000'000'000);
}

TEST_CASE("ZeRO-1 and ZeRO-2 send as much as DDP, ZeRO-3 1.5 times as much") {
  // 1,001 parameters on 5 GPUs: padded to 1,005, shards of 201; a pass sends 4 of them, 2 bytes
  // each.
  const int passes[] = {2, 2, 2, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const ClosedForm& form = planned_stages()[static_cast<std::size_t>(stage)].form;
    CHECK(evaluate(form, 1001, 5, Dtype::fp16, 12).sent_per_iteration ==
          passes[stage] * 4 * 201 * 2);
  }
}

TEST_CASE("the largest model by states alone fills the memory: one parameter more does not fit") {
  for (const PlannedStage& stage : planned_stages()) {
    for (const int gpus : {1, 3, 5, 64}) {
      for (const int M : {8, 12, 16}) {
        const std::int64_t memory = 1'000'003;
        const std::int64_t most = largest_by_states(stage.form, memory, gpus, Dtype::bf16, M);
        INFO(stage.program << " on " << gpus << ", M = " << M << ": " << most);
        CHECK(evaluate(stage.form, most, gpus, Dtype::bf16, M).model_states <= memory);
        CHECK(evaluate(stage.form, most + 1, gpus, Dtype::bf16, M).model_states > memory);
      }
    }
  }
}

TEST_CASE("checkpointed activations are the inputs of all blocks, and one block's own") {
  const ModelConfig config{.layers = 3, .heads = 4, .channels = 20, .context = 7, .vocab = 11};
  const int B = 2, R = 14;
  // Counted by hand, fp16. Of one block: ln_1, att_out, middle, ln_2 and the output (R, C), qkv
  // (R, 3C), fc and gelu (R, 4C), att (B, H, T, T), and four statistics (R).
  const std::int64_t block = 2 * (R * 20 * (5 + 3 + 8) + B * 4 * 7 * 7) + 4 * 4 * R;
  // The first input, ln_f (R, C), logits (R, V), three statistics; tokens and targets.
  const std::int64_t rest = 2 * (R * 20 * 2 + R * 11) + 3 * 4 * R + 2 * 4 * R;
  CHECK(Activations::bytes_after_forward(config, B, Dtype::fp16) == 3 * block + rest);
  CHECK(checkpointed_activations(config, B, Dtype::fp16) == block + rest + 2 * (2 * R * 20));
  ModelConfig one = config;
  one.layers = 1;
  CHECK(checkpointed_activations(one, B, Dtype::fp32) ==
        Activations::bytes_after_forward(one, B, Dtype::fp32));
}

TEST_CASE("1T parameters are trained for over 140 days on 1,024 V100s") {
  // 300B tokens at 125 TFLOP/s each, with nothing lost: 6 N D / (K rate).
  const double days = least_seconds(1'000'000'000'000, 300e9, 1024, 125e12) / 86400;
  CHECK(days == Approx(1.8e24 / (1024 * 125e12) / 86400));
  CHECK(days > 140);
  CHECK(days < 200);
  // The paper's own estimate: BERT-large's 67 minutes, 3,000 times the computation.
  CHECK(67.0 * 3000 / 60 / 24 == Approx(140).epsilon(0.01));
}

TEST_CASE("GB are powers of 1,000 and GiB powers of 1,024") {
  CHECK(decimal_bytes(80'000'000'000) == "80.00 GB");
  CHECK(binary_bytes(80'000'000'000) == "74.51 GiB");
  CHECK(decimal_bytes(std::int64_t{80} << 30) == "85.90 GB");
  CHECK(binary_bytes(std::int64_t{80} << 30) == "80.00 GiB");
  CHECK(decimal_bytes(999) == "999 B");
  CHECK(binary_bytes(1024) == "1.00 KiB");
  CHECK(gigabytes(117'187'500) == "0.12 GB");
  CHECK(gigabytes(16'000'000'000'000) == "16,000.00 GB");
}

TEST_CASE("a number of parameters is read as people write it") {
  CHECK(parse_count("7.5e9") == 7'500'000'000);
  CHECK(parse_count("7.5B") == 7'500'000'000);
  CHECK(parse_count("1T") == 1'000'000'000'000);
  CHECK(parse_count("124M") == 124'000'000);
  CHECK(parse_count("12362") == 12'362);
  for (const char* text : {"", "B", "0", "-1", "1.5", "7.5 GB", "nan", "inf", "1e16", "7.5b"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_count(text), std::invalid_argument);
  }
}

TEST_CASE("the search finds the last number that fits, wherever it begins") {
  for (const std::int64_t last : {0, 1, 2, 3, 5, 17, 100, 1000}) {
    for (const std::int64_t first : {1, 3, 8, 5000}) {
      for (const std::int64_t limit : {1, 4, 16, 999, 1000, 1 << 20}) {
        int trials = 0;
        const Found found = largest(
            first, [&](std::int64_t n) { return n <= limit; },
            [&](std::int64_t n) {
              ++trials;
              REQUIRE(n <= limit);
              return n <= last;
            });
        INFO("fits up to " << last << ", can be tried up to " << limit << ", from " << first);
        CHECK(found.number == std::min(last, limit));
        CHECK((found.at_limit ? last >= limit : last <= limit));
        CHECK(trials <= 2 * std::log2(std::max(last, first)) + 4);
      }
    }
  }
}

TEST_CASE("the search finds the first number of GPUs that is enough, or that there is none") {
  for (const std::int64_t first : {9, 10, 11, 16, 17, 100, 999, 1000}) {
    const auto enough = [&](std::int64_t n) { return n >= first; };
    CHECK(smallest(8, 1000, enough) == first);
  }
  CHECK(smallest(8, 1000, [](std::int64_t) { return false; }) == 0);
  CHECK(smallest(1000, 1000, [](std::int64_t) { return true; }) == 0);
  CHECK(smallest(2000, 1000, [](std::int64_t) { return true; }) == 0);
}

TEST_CASE("a page is the same on a screen and as Markdown") {
  Page page;
  page.heading("Title");
  page.item("one");
  page.item("two | three");
  PageTable table;
  table.columns = {"DDP", "ZeRO-1"};
  table.group("first");
  table.row("  a", {"1 GB", "2 GB"});
  table.group("second");
  table.row("b", {"3 GB", "4 GB"});
  page.table(table);
  CHECK(page.plain(60) ==
        "Title\n=====\n\n- one\n- two | three\n\n"
        "first      DDP  ZeRO-1\n"
        "----------------------\n"
        "  a       1 GB    2 GB\n"
        "\nsecond\n"
        "----------------------\n"
        "b         3 GB    4 GB\n");
  CHECK(page.markdown() ==
        "## Title\n\n- one\n- two \\| three\n\n"
        "| first | DDP | ZeRO-1 |\n|---|---:|---:|\n| a | 1 GB | 2 GB |\n"
        "| **second** | | |\n| b | 3 GB | 4 GB |\n");
}

}  // namespace zero
