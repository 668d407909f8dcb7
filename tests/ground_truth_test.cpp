// The stage programs arrive at the bits of the ground truth, which knows no communication.
#include "tests/support/ground_truth.h"

#include "catch.h"
#include "tests/support/files.h"

namespace zero {
namespace {

using Problems = std::vector<std::string>;

void check(Work work, int loss_scale = 65536) {
  for (const std::string& stage : kStages) {
    INFO(stage << ", " << work.ranks << " ranks, " << work.dtype << ", " << work.collectives);
    const TemporaryFolder folder;
    Work dumping = work;
    dumping.more.insert(dumping.more.end(), {"--dump-state", folder.path(), "--loss-scale",
                                             std::to_string(loss_scale)});
    dumping.more.insert(dumping.more.end(), kTruthOptions.begin(), kTruthOptions.end());
    const nlohmann::json result = run_stage(stage, dumping);
    CHECK(check_against_truth(result, work, loss_scale, folder.path()) == Problems{});
  }
}

void check_all_ranks_and_orders(const std::string& dtype) {
  for (const std::string collectives : {"ring", "direct"}) {
    for (const int ranks : {1, 2, 3, 4, 5}) {
      Work work;
      work.ranks = ranks;
      work.dtype = dtype;
      work.collectives = collectives;
      work.batch = 2 * ranks;
      work.iterations = 2;
      DYNAMIC_SECTION(ranks << " ranks, " << collectives) { check(work); }
    }
  }
}

}  // namespace

TEST_CASE("K ranks arrive at the bits of one process that adds in the documented order, fp32") {
  check_all_ranks_and_orders("fp32");
}
TEST_CASE("K ranks arrive at the bits of one process that adds in the documented order, fp16") {
  check_all_ranks_and_orders("fp16");
}
TEST_CASE("K ranks arrive at the bits of one process that adds in the documented order, bf16") {
  check_all_ranks_and_orders("bf16");
}

TEST_CASE("the programs skip the iterations in which the truth overflows") {
  // At 2^24 the scale takes some iterations to settle.
  Work work;
  work.batch = 3;
  work.iterations = 12;
  check(work, 1 << 24);
}

TEST_CASE("an overflow on one rank leaves the truth's bits, whichever rank it is") {
  for (const int rank : {0, 1, 2}) {
    Work work;
    work.batch = 3;
    work.iterations = 3;
    work.more = {"--overflow-at", std::to_string(rank) + ":1"};
    DYNAMIC_SECTION("rank " << rank) { check(work); }
  }
}

}  // namespace zero
