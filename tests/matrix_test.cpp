// The matrix: the four stages, as programs, give the same bits and keep and send what their
// formulas say, for every number of ranks, storage type and algorithm, at sizes that nothing
// divides.
#include "tests/support/matrix.h"

#include "catch.h"

namespace zero {
namespace {

using nlohmann::json;

std::int64_t peak(const json& rank, const char* category) {
  return rank.at("memory").at(category).at("peak");
}

void check_every_number_of_ranks(const std::string& dtype, const std::string& collectives) {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    Work work = shape_for(ranks);
    work.dtype = dtype;
    work.collectives = collectives;
    work.more = {"--loss-scale", "4096"};  // so that no iteration is skipped
    DYNAMIC_SECTION(ranks << " ranks") { check_stages_agree(work); }
  }
}

}  // namespace

TEST_CASE("all stages give the same bits and keep their formulas in fp32 on a ring") {
  check_every_number_of_ranks("fp32", "ring");
}
TEST_CASE("all stages give the same bits and keep their formulas in fp32 directly") {
  check_every_number_of_ranks("fp32", "direct");
}
TEST_CASE("all stages give the same bits and keep their formulas in fp16 on a ring") {
  check_every_number_of_ranks("fp16", "ring");
}
TEST_CASE("all stages give the same bits and keep their formulas in fp16 directly") {
  check_every_number_of_ranks("fp16", "direct");
}
TEST_CASE("all stages give the same bits and keep their formulas in bf16 on a ring") {
  check_every_number_of_ranks("bf16", "ring");
}
TEST_CASE("all stages give the same bits and keep their formulas in bf16 directly") {
  check_every_number_of_ranks("bf16", "direct");
}

TEST_CASE("keeping the fp32 gradient costs 4 bytes a parameter and changes no bit") {
  for (const std::string dtype : {"fp16", "bf16"}) {
    for (const std::string& stage : kStages) {
      DYNAMIC_SECTION(stage << ", " << dtype) {
        Work work;
        work.dtype = dtype;
        const json without = run_stage(stage, work);
        work.more = {"--fp32-grads"};
        const json with = run_stage(stage, work);
        CHECK(without.at("optimizer_bytes_per_parameter") == 12);
        CHECK(with.at("optimizer_bytes_per_parameter") == 16);
        CHECK(check_formulas(with, stage, work) == Problems{});
        CHECK(bits(with) == bits(without));
      }
    }
  }
}

TEST_CASE("for one rank the collectives make no difference, for two ranks neither") {
  // Two addends have one order; with three, ring and direct differ, which is a lesson.
  for (const std::string dtype : {"fp32", "fp16", "bf16"}) {
    for (const int ranks : {1, 2, 3}) {
      DYNAMIC_SECTION(ranks << " ranks, " << dtype) {
        Work work;
        work.ranks = ranks;
        work.dtype = dtype;
        const json ring = bits(run_stage("zero1", work));
        work.collectives = "direct";
        CHECK((ring == bits(run_stage("zero1", work))) == (ranks < 3));
      }
    }
  }
}

TEST_CASE("the same command gives the same bits again") {
  for (const std::string& stage : kStages) {
    DYNAMIC_SECTION(stage) {
      Work work;
      work.ranks = 5;
      CHECK(bits(run_stage(stage, work)) == bits(run_stage(stage, work)));
    }
  }
}

TEST_CASE("the seed decides the initial weights, and with them all that follows") {
  Work work;
  const json first = bits(run_stage("zero3", work));
  work.seed = 2;
  CHECK(first != bits(run_stage("zero3", work)));
}

TEST_CASE("twenty iterations keep the stages together, clipping and decay included") {
  // A small bound on the norm, so that every iteration is clipped.
  for (const int ranks : {3, 5}) {
    DYNAMIC_SECTION(ranks << " ranks") {
      Work work;
      work.ranks = ranks;
      work.batch = 15;
      work.iterations = 20;
      work.more = {"--clip", "0.05", "--weight-decay", "0.5", "--learning-rate", "0.02"};
      const json expected = bits(run_stage("ddp", work));
      for (const std::string& stage : kStages) CHECK(bits(run_stage(stage, work)) == expected);
    }
  }
}

TEST_CASE("the norm of the whole gradient is the same for any number of ranks, to a tolerance") {
  // In fp32 only the order of the additions differs.
  for (const std::string& stage : kStages) {
    DYNAMIC_SECTION(stage) {
      Work work;
      work.dtype = "fp32";
      work.iterations = 1;
      work.ranks = 1;
      const json one = run_stage(stage, work).at("iterations").at(0);
      for (const int ranks : {2, 3, 4, 5, 8}) {
        work.ranks = ranks;
        const json several = run_stage(stage, work).at("iterations").at(0);
        const double norm = one.at("gradient_norm"), loss = one.at("loss");
        CHECK(several.at("gradient_norm").get<double>() == Approx(norm).epsilon(1e-5));
        CHECK(several.at("loss").get<double>() == Approx(loss).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("communication scratch does not grow with the model, the ranks or the iterations") {
  for (const std::string collectives : {"ring", "direct"}) {
    DYNAMIC_SECTION(collectives) {
      Work work;
      work.collectives = collectives;
      work.iterations = 1;
      const std::int64_t scratch =
          peak(run_stage("zero3", work).at("ranks").at(0), "communication");
      CHECK(scratch > 0);
      work.heads = 3;
      work.channels = 33;
      work.layers = 4;
      work.ranks = 5;
      work.iterations = 3;
      const json larger = run_stage("zero3", work);
      for (const json& rank : larger.at("ranks")) CHECK(peak(rank, "communication") == scratch);
    }
  }
}

TEST_CASE("activations grow with the batch, model states do not") {
  Work work;
  work.iterations = 1;
  const json small = run_stage("zero2", work).at("ranks").at(0);
  work.batch = 240;
  const json large = run_stage("zero2", work).at("ranks").at(0);
  for (const char* category : {"parameters", "gradients", "optimizer_states", "temporary"})
    CHECK(peak(small, category) == peak(large, category));
  CHECK(peak(large, "activations") == 2 * peak(small, "activations"));
}

TEST_CASE("with several threads per rank the stages give the same bits too, again and again") {
  // Threads cut some sums into parts, so another number of them may give other bits; the same
  // number gives the same.
  Work work;
  work.ranks = 2;
  work.heads = 3;
  work.channels = 33;
  work.more = {"--threads", "3"};
  const json expected = bits(run_stage("ddp", work));
  for (const std::string& stage : kStages) {
    INFO(stage);
    CHECK(bits(run_stage(stage, work)) == expected);
  }
}

}  // namespace zero
