// --device where there is no GPU: what is asked for cannot be had, and what may be had is not.
#include <filesystem>
#include <string>

#include "catch.h"
#include "tests/support/files.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

using Words = std::vector<std::string>;

// A program that is told to look for its GPU's part where nothing is. (The tests may run where
// there is a GPU.)
Finished run_without_gpu(const Words& options, const std::string& library = "/no/such/library.so") {
  Words command = {stage_path("zero2"), "--ranks", "3"};
  for (const std::string& word : words_of(
           "--layers 1 --heads 2 --channels 8 --context 5 --batch 3 --iterations 2 --dtype bf16"))
    command.push_back(word);
  command.insert(command.end(), options.begin(), options.end());
  return run(command,
             {.seconds = 20, .directory = {}, .environment = {{"ZERO_GPU_LIBRARY", library}}});
}

void check_refused(const Finished& finished, const std::string& what) {
  INFO(finished.describe());
  CHECK(finished.status == 2);
  CHECK(finished.out.empty());
  REQUIRE(finished.errors().size() == 1);
  CHECK_THAT(finished.errors()[0], Catch::Matchers::StartsWith("zero2: --device cuda: "));
  CHECK_THAT(finished.errors()[0], Catch::Matchers::Contains(what));
  CHECK_THAT(finished.errors()[0], Catch::Matchers::EndsWith("; use --device cpu"));
}

TEST_CASE("a device of another name is refused, with those that there are") {
  const Finished finished = run_without_gpu({"--device", "gpu"});
  INFO(finished.describe());
  CHECK(finished.status == 2);
  REQUIRE(finished.errors().size() == 1);
  CHECK_THAT(finished.err,
             Catch::Matchers::Contains("--device gpu: choose one of auto, cpu, cuda"));
}

TEST_CASE("cuda without the GPU's part is refused in one line, and writes nothing") {
  const TemporaryFolder folder;
  check_refused(run_without_gpu({"--device", "cuda", "--trace", folder / "trace", "--json",
                                 folder / "result.json"}),
                "ZERO_GPU_LIBRARY names /no/such/library.so, which cannot be opened");
  CHECK(folder.is_empty());
}

TEST_CASE("a program that was built without CUDA says so") {
  // As it is where the GPU's part was not built: in a folder that has none beside it.
  const TemporaryFolder folder;
  std::filesystem::copy(stage_path("zero2"), folder / "zero2");
  const Finished finished =
      run({folder / "zero2", "--device", "cuda"},
          {.seconds = 20, .directory = {}, .environment = {{"ZERO_GPU_LIBRARY", ""}}});
  check_refused(finished, "this program was built without CUDA (libzero_cuda.so is not there");
}

TEST_CASE("a file that is no library, or a library of something else, is named as such") {
  const TemporaryFolder folder;
  write_whole_file(folder / "text", "no library");
  check_refused(run_without_gpu({"--device", "cuda"}, folder / "text"),
                "the GPU's part cannot be loaded: " + folder / "text");
  check_refused(run_without_gpu({"--device", "cuda"}, "libm.so.6"),
                "libm.so.6 is not a GPU module of this project");
}

TEST_CASE("auto falls back to the CPU, says so in one line, and computes the same bits") {
  const TemporaryFolder folder;
  const Finished chosen = run_without_gpu({"--device", "auto", "--json", folder / "auto.json"});
  const Finished cpu = run_without_gpu({"--json", folder / "cpu.json"});
  INFO(chosen.describe() << cpu.describe());
  CHECK(chosen.status == 0);
  CHECK(chosen.out == cpu.out);
  REQUIRE(chosen.errors().size() == 2);  // and the median
  CHECK_THAT(chosen.errors()[0],
             Catch::Matchers::StartsWith("device: the CPU; ZERO_GPU_LIBRARY names "));
  CHECK(cpu.errors().size() == 1);
  const auto result = nlohmann::json::parse(read_whole_file(folder / "auto.json"));
  CHECK(result.at("device") == "cpu");
  CHECK(result.at("options").at("device") == "cpu");
  CHECK(bits(result) == bits(nlohmann::json::parse(read_whole_file(folder / "cpu.json"))));
  CHECK(run_without_gpu({"--device", "auto", "--quiet"}).err.empty());
}

TEST_CASE("a run on the CPU does not look for the GPU's part") {
  const TemporaryFolder folder;
  write_whole_file(folder / "text", "no library");
  const Finished finished = run_without_gpu({"--device", "cpu", "--quiet"}, folder / "text");
  CHECK(finished.status == 0);
  CHECK(finished.err.empty());
}

TEST_CASE("library collectives on threads need a GPU, also where auto found none") {
  for (const char* device : {"cpu", "auto"}) {
    const Finished finished = run_without_gpu({"--device", device, "--collectives", "library"});
    INFO(finished.describe());
    CHECK(finished.status == 2);
    REQUIRE(finished.errors().size() == 1);
    CHECK_THAT(finished.err, Catch::Matchers::Contains("use ring or direct"));
    const bool chosen = finished.err.find("--device auto chose the CPU (") != std::string::npos;
    CHECK(chosen == (std::string(device) == "auto"));
    CHECK((finished.err.find("/no/such/library.so") != std::string::npos) == chosen);
  }
}

}  // namespace
}  // namespace zero
