// --device under mpirun: all processes compute on GPUs, or none does, and it is said once.
#include <algorithm>
#include <string>

#include "catch.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

using Words = std::vector<std::string>;

Finished run_processes(const Words& options) {
  Words command = mpirun(3);
  command.push_back(stage_path("zero3"));
  for (const std::string& word : words_of(
           "--layers 1 --heads 2 --channels 8 --context 5 --batch 3 --iterations 2 --dtype bf16"))
    command.push_back(word);
  command.insert(command.end(), options.begin(), options.end());
  return run(command, {.seconds = 60,
                       .directory = {},
                       .environment = {{"ZERO_GPU_LIBRARY", "/no/such/library.so"}}});
}

std::int64_t lines_with(const Finished& finished, const std::string& text) {
  const auto lines = finished.errors();
  return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(text) != std::string::npos;
  });
}

TEST_CASE("cuda without a GPU ends all processes, with one message") {
  const Finished finished = run_processes({"--device", "cuda"});
  INFO(finished.describe());
  CHECK(finished.status == 2);
  CHECK(finished.out.empty());
  CHECK(lines_with(finished, "zero3: --device cuda: ZERO_GPU_LIBRARY names ") == 1);
}

TEST_CASE("auto without a GPU computes on the CPU on every process, and says so once") {
  const Finished chosen = run_processes({"--device", "auto"}), cpu = run_processes({});
  INFO(chosen.describe() << cpu.describe());
  CHECK(chosen.status == 0);
  CHECK_FALSE(cpu.out.empty());
  CHECK(chosen.out == cpu.out);
  CHECK(lines_with(chosen, "device: the CPU; ZERO_GPU_LIBRARY names ") == 1);
  CHECK(lines_with(cpu, "device:") == 0);
}

}  // namespace
}  // namespace zero
