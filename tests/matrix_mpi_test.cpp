// The smaller matrix: ranks as processes under mpirun give the same bits as ranks as threads.
#include <cmath>

#include "catch.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

using nlohmann::json;
using Problems = std::vector<std::string>;

void check_processes_and_threads(const Work& work) {
  const json threads = bits(run_stage("ddp", work));
  for (const std::string& stage : kStages) {
    INFO(stage << ", " << work.ranks << " ranks, " << work.dtype << ", " << work.collectives);
    const json processes = run_stage(stage, work, mpirun(work.ranks));
    CHECK(bits(processes) == threads);
    CHECK(check_formulas(processes, stage, work) == Problems{});
  }
}

void check_every_number_of_processes(const std::string& dtype, const std::string& collectives) {
  for (const int ranks : {2, 3, 5}) {
    Work work;
    work.ranks = ranks;
    work.dtype = dtype;
    work.collectives = collectives;
    DYNAMIC_SECTION(ranks << " ranks") { check_processes_and_threads(work); }
  }
}

}  // namespace

TEST_CASE("processes give the bits of threads in fp16 on a ring") {
  check_every_number_of_processes("fp16", "ring");
}
TEST_CASE("processes give the bits of threads in fp16 directly") {
  check_every_number_of_processes("fp16", "direct");
}
TEST_CASE("processes give the bits of threads in fp32 on a ring") {
  check_every_number_of_processes("fp32", "ring");
}
TEST_CASE("processes give the bits of threads in fp32 directly") {
  check_every_number_of_processes("fp32", "direct");
}

TEST_CASE("with MPI's own collectives two ranks give the same bits, more agree to a tolerance") {
  for (const std::string dtype : {"fp32", "fp16", "bf16"}) {
    for (const int ranks : {1, 2, 3, 5}) {
      DYNAMIC_SECTION(ranks << " ranks, " << dtype) {
        Work work;
        work.ranks = ranks;
        work.dtype = dtype;
        work.iterations = 1;
        work.more = {"--loss-scale", "1024"};  // MPI's sum, not yet divided, must stay in range
        const json ring = run_stage("ddp", work);
        work.collectives = "library";
        for (const std::string& stage : kStages) {
          INFO(stage);
          const json library = run_stage(stage, work, mpirun(ranks));
          if (ranks <= 2) CHECK(bits(library) == bits(ring));
          const json& ours = ring.at("iterations").at(0);
          const json& theirs = library.at("iterations").at(0);
          CHECK(theirs.at("loss") == ours.at("loss"));  // before the first reduction
          const double norm = ours.at("gradient_norm");
          const double tolerance = dtype == "fp32" ? 1e-6 : dtype == "fp16" ? 2e-3 : 2e-2;
          CHECK(theirs.at("gradient_norm").get<double>() == Approx(norm).epsilon(tolerance));
          for (const json& rank : library.at("ranks"))
            CHECK(rank.at("sent_bytes_per_iteration").is_null());
        }
      }
    }
  }
}

TEST_CASE("a given --ranks must say as many as mpirun started") {
  Work work;
  work.ranks = 2;
  const std::vector<std::string> program = work.command("zero1");
  std::vector<std::string> command = mpirun(3);
  command.insert(command.end(), program.begin(), program.end());
  const Finished finished = run(command);
  INFO(finished.describe());
  CHECK(finished.status == 2);
  CHECK(finished.err.find("mpirun started 3 processes") != std::string::npos);
}

}  // namespace zero
