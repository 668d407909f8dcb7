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
#include "tests/paper_vectors.h"

namespace zero {
namespace {

constexpr double kGB = 1e9;

std::int64_t states(int stage, double parameters, int gpus, int optimizer_bytes) {
  return evaluate(planned_stages()[static_cast<std::size_t>(stage)].form,
                  static_cast<std::int64_t>(parameters), gpus, Dtype::fp16, optimizer_bytes)
      .model_states;
}

// `exact` with as many digits after the point as `printed` has: rounded half up, or cut off.
std::string written(double exact, const std::string& printed, bool cut_off = false) {
  const std::size_t point = printed.find('.');
  const int digits = point == std::string::npos ? 0 : static_cast<int>(printed.size() - point) - 1;
  const double unit = std::pow(10.0, digits);
  return fmt::format("{:.{}f}", std::floor(exact * unit + (cut_off ? 0 : 0.5)) / unit, digits);
}

double nominal_parameters(const std::string& model) {
  return model == "7.5b" ? 7.5e9 : model == "128b" ? 128e9 : 1e12;
}

}  // namespace

TEST_CASE("the formulas give all 54 cells of the ZeRO paper's table 1, rounded or cut off") {
  for (const paper::Table1Cell& cell : paper::kTable1) {
    const std::int64_t bytes = states(cell.stage, nominal_parameters(cell.model), cell.gpus, 12);
    const double gigabytes = static_cast<double>(bytes) / kGB;
    INFO(cell.model << ", " << cell.gpus << " GPUs, stage " << cell.stage << ": " << gigabytes);
    // Padding to a multiple of K adds less than K parameters of at most 16 bytes.
    CHECK(gigabytes >= cell.exact_gb);
    CHECK(gigabytes * kGB < cell.exact_gb * kGB + 16 * cell.gpus);
    CHECK(written(gigabytes, cell.printed_gb, paper::is_cut_off(cell)) == cell.printed_gb);
  }
}

TEST_CASE("the formulas give the ZeRO paper's figure 1 and the lecture's tables") {
  for (const paper::StatesRow& row : paper::kStates) {
    for (int stage = 0; stage < 4; ++stage) {
      const std::string& printed = row.printed_gb.at(static_cast<std::size_t>(stage));
      INFO(row.source << ", stage " << stage);
      const std::int64_t bytes = states(stage, row.parameters, row.gpus, row.optimizer_bytes);
      CHECK(written(static_cast<double>(bytes) / kGB, printed) == printed);
    }
  }
  // Page 12 of the lecture: LLaMA-3 8B is 16 + 16 + 128.
  const ClosedFormBytes bytes =
      evaluate(planned_stages()[0].form, 8'000'000'000, 1, Dtype::fp16, 16);
  CHECK(bytes.parameters == 16'000'000'000);
  CHECK(bytes.gradients == 16'000'000'000);
  CHECK(bytes.optimizer_states == 128'000'000'000);
}

TEST_CASE("the formulas give the ZeRO paper's table 2: the largest model in 32 GB on 64 GPUs") {
  const std::int64_t memory = 32'000'000'000;
  const auto& without = paper::kTable2.front();
  double billions[4] = {};
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const ClosedForm& form = planned_stages()[stage].form;
    billions[stage] =
        static_cast<double>(largest_by_states(form, memory, 64, Dtype::fp16, 12)) / 1e9;
    INFO("stage " << stage << ": " << billions[stage]);
    CHECK(written(billions[stage] + 1e-7, without.printed[stage]) == without.printed[stage]);
    // With model parallelism of degree m, m times as much; the paper multiplied what it had
    // rounded, and its 1T is written 1024.
    for (const paper::Table2Row& row : paper::kTable2)
      CHECK(billions[stage] * row.model_parallel ==
            Approx(std::stod(row.printed[stage])).epsilon(0.006));
  }
  // So that 121.6 and 230.4 are printed for these.
  CHECK(billions[1] * 16 == Approx(122.27).margin(0.005));
  CHECK(billions[2] * 16 == Approx(230.76).margin(0.005));
}

TEST_CASE("ZeRO-1 and ZeRO-2 send as much as DDP, ZeRO-3 1.5 times as much") {
  // 1,001 parameters on 5 GPUs: padded to 1,005, shards of 201; a pass sends 4 of them, 2 bytes
  // each.
  for (const paper::Traffic& traffic : paper::kTraffic) {
    const PlannedStage& stage = *find_planned_stage(traffic.stage);
    INFO(traffic.stage);
    CHECK(evaluate(stage.form, 1001, 5, Dtype::fp16, 12).sent_per_iteration ==
          traffic.passes * 4 * 201 * 2);
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
