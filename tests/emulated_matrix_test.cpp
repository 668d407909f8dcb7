// The matrix on the emulated GPU: the four stages, unchanged, with --device cuda give the same bits
// and keep their formulas, whether every rank has a GPU of its own or all share one, whatever the
// order in which the emulated threads run.
#include "tests/support/matrix.h"

namespace zero {
namespace {

using nlohmann::json;
using Environment = std::vector<std::string>;

Environment on_gpus(int gpus, const Environment& more = {}) {
  Environment words = {"env", "EMU_DEVICES=" + std::to_string(gpus)};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The odd shape of the CPU's matrix, with fewer sequences.
Work work_for(int ranks, const std::string& dtype, const std::string& collectives) {
  Work work = shape_for(ranks);
  work.batch = 2 * ranks;
  work.iterations = 2;
  work.dtype = dtype;
  work.collectives = collectives;
  work.more = {"--device", "cuda", "--loss-scale", "4096"};
  return work;
}

// Each rank on its own GPU, through NCCL, and all on one, through the host.
void check_every_number_of_ranks(const std::string& dtype, const std::string& collectives) {
  for (const int ranks : {1, 2, 3, 5}) {
    DYNAMIC_SECTION(ranks << " ranks") {
      const Work work = work_for(ranks, dtype, collectives);
      const json apart = check_stages_agree(work, on_gpus(ranks));
      CHECK(check_stages_agree(work, on_gpus(1)) == apart);
    }
  }
}

}  // namespace

TEST_CASE("all stages give the same bits on the emulated GPU in fp32 on a ring") {
  check_every_number_of_ranks("fp32", "ring");
}
TEST_CASE("all stages give the same bits on the emulated GPU in fp32 directly") {
  check_every_number_of_ranks("fp32", "direct");
}
TEST_CASE("all stages give the same bits on the emulated GPU in fp16 on a ring") {
  check_every_number_of_ranks("fp16", "ring");
}
TEST_CASE("all stages give the same bits on the emulated GPU in fp16 directly") {
  check_every_number_of_ranks("fp16", "direct");
}
TEST_CASE("all stages give the same bits on the emulated GPU in bf16 on a ring") {
  check_every_number_of_ranks("bf16", "ring");
}
TEST_CASE("all stages give the same bits on the emulated GPU in bf16 directly") {
  check_every_number_of_ranks("bf16", "direct");
}

TEST_CASE("the order in which the emulated threads and streams run changes no bit") {
  for (const int ranks : {1, 3}) {
    const Work work = work_for(ranks, "fp16", "ring");
    const json expected = bits(run_stage("zero2", work, on_gpus(1)));
    for (const std::string order : {"EMU_ORDER=reverse", "EMU_ORDER=random1", "EMU_ORDER=random7",
                                    "EMU_WORKERS=2", "EMU_STREAMS=lazy", "EMU_STREAMS=threads"}) {
      DYNAMIC_SECTION(ranks << " ranks, " << order) {
        CHECK(bits(run_stage("zero2", work, on_gpus(1, {order}))) == expected);
        CHECK(bits(run_stage("zero3", work, on_gpus(ranks, {order}))) == expected);
      }
    }
  }
}

TEST_CASE("on the emulated GPU the loss is that of the CPU to a tolerance") {
  for (const std::string dtype : {"fp32", "fp16", "bf16"}) {
    DYNAMIC_SECTION(dtype) {
      Work work = work_for(3, dtype, "ring");
      const json gpu = run_stage("zero1", work, on_gpus(3));
      work.more = {"--loss-scale", "4096"};
      const json cpu = run_stage("zero1", work);
      const double tolerance = dtype == "fp32" ? 1e-5 : 5e-3;
      for (std::size_t i = 0; i < 2; ++i) {
        const json &one = gpu.at("iterations").at(i), &other = cpu.at("iterations").at(i);
        CHECK(one.at("loss").get<double>() ==
              Approx(other.at("loss").get<double>()).epsilon(tolerance));
        CHECK(one.at("gradient_norm").get<double>() ==
              Approx(other.at("gradient_norm").get<double>()).epsilon(10 * tolerance));
      }
    }
  }
}

TEST_CASE("an iteration that overflows on one rank is skipped by all on the emulated GPU") {
  Work work = work_for(3, "fp16", "ring");
  work.more.insert(work.more.end(), {"--overflow-at", "1:1"});
  json expected;
  for (const std::string& stage : kStages) {
    const json result = run_stage(stage, work, on_gpus(3));
    INFO(stage);
    CHECK(result.at("iterations").at(1).at("skipped").get<bool>());
    CHECK(check_formulas(result, stage, work) == Problems{});
    if (expected.is_null()) expected = bits(result);
    CHECK(bits(result) == expected);
  }
}

TEST_CASE("NCCL's own collectives agree to a tolerance, and exactly for two ranks") {
  for (const std::string dtype : {"fp32", "fp16", "bf16"}) {
    for (const int ranks : {2, 3, 5}) {
      DYNAMIC_SECTION(ranks << " ranks, " << dtype) {
        Work work = work_for(ranks, dtype, "ring");
        work.iterations = 1;
        work.more = {"--device", "cuda", "--loss-scale", "256"};
        const json ring = run_stage("ddp", work, on_gpus(ranks));
        work.collectives = "library";
        for (const std::string& stage : kStages) {
          INFO(stage);
          const json library = run_stage(stage, work, on_gpus(ranks));
          if (ranks == 2) CHECK(bits(library) == bits(ring));
          const double norm = ring.at("iterations").at(0).at("gradient_norm");
          CHECK(library.at("iterations").at(0).at("gradient_norm").get<double>() ==
                Approx(norm).epsilon(dtype == "fp32" ? 1e-5 : 1e-2));
        }
      }
    }
  }
}

}  // namespace zero
