// --device under mpirun on emulated GPUs: who has one, who shares one, and who has none.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "catch.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

using Catch::Matchers::Contains;
using Words = std::vector<std::string>;

const Words kWork = words_of(
    "--layers 1 --heads 2 --channels 8 --context 5 --batch 12 --iterations 2 --dtype bf16");

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

// mpirun of 3 processes: the first `with` find the GPU's part, the others do not.
Finished run_processes(int with, const std::string& device, const std::string& devices) {
  const char* library = std::getenv("ZERO_GPU_LIBRARY");
  REQUIRE(library != nullptr);
  Words program = {stage_path("zero2"), "--device", device};
  append(program, kWork);
  Words command = mpirun(with);
  append(command, {"env", std::string("ZERO_GPU_LIBRARY=") + library});
  append(command, program);
  if (with < 3) {
    append(command, {":", "-n", std::to_string(3 - with), "env", "ZERO_GPU_LIBRARY=/no/such.so"});
    append(command, program);
  }
  return run(command, {.seconds = 100, .directory = {}, .environment = {{"EMU_DEVICES", devices}}});
}

std::int64_t lines_with(const Finished& finished, const std::string& text) {
  const auto lines = finished.errors();
  return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(text) != std::string::npos;
  });
}

TEST_CASE("where one process has no GPU all use the CPU, and which rank it is is said once") {
  const Finished finished = run_processes(2, "auto", "2");
  INFO(finished.describe());
  CHECK(finished.status == 0);
  CHECK(lines_with(finished, "device: ") == 1);
  CHECK(lines_with(finished, "device: the CPU; rank 2 (") == 1);
  CHECK(lines_with(finished, "): ZERO_GPU_LIBRARY names ") == 1);
  CHECK_THAT(finished.out, Contains("zero2: 3 ranks, ring"));
}

TEST_CASE("where one process has no GPU cuda ends all of them, with one message") {
  const Finished finished = run_processes(1, "cuda", "3");
  INFO(finished.describe());
  CHECK(finished.status == 2);
  CHECK(finished.out.empty());
  CHECK(lines_with(finished, "zero2: --device cuda: rank 1 (") == 1);
}

TEST_CASE("processes print what threads print: with a GPU for each, and sharing one") {
  Words threads = {stage_path("zero2"), "--device", "cuda", "--ranks", "3"};
  append(threads, kWork);
  const Finished expected =
      run(threads, {.seconds = 60, .directory = {}, .environment = {{"EMU_DEVICES", "3"}}});
  INFO(expected.describe());
  const Finished own = run_processes(3, "cuda", "3");
  INFO(own.describe());
  CHECK(own.status == 0);
  CHECK(own.out == expected.out);
  CHECK(lines_with(own, "(3 ranks on 3 GPUs, NCCL)") == 1);
  const Finished shared = run_processes(3, "cuda", "1");
  INFO(shared.describe());
  CHECK(shared.status == 0);
  CHECK(lines_with(shared, "(3 ranks share 1 GPU, which NCCL refuses") == 1);
  // The same losses and fingerprints; scratch is of another size.
  const auto iterations = [](const std::string& out) { return out.substr(0, out.find("\n\n")); };
  CHECK(iterations(shared.out) == iterations(expected.out));
}

}  // namespace
}  // namespace zero
