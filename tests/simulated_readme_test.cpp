// README.md, "On a simulated cluster": its tables are the presets, its commands do what is said.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catch.h"
#include "common/device/simulated/hardware.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

namespace zero {
namespace {

// From its heading to the next.
std::string section() {
  const std::string readme = read_whole_file(ZERO_README);
  const std::size_t begin = readme.find("\n### On a simulated cluster\n");
  REQUIRE(begin != std::string::npos);
  return readme.substr(begin, readme.find("\n## ", begin) - begin);
}

void check_says(const std::string& text) {
  INFO(text);
  std::string words = section();  // without its line breaks
  for (char& c : words) c = c == '\n' ? ' ' : c;
  while (words.find("  ") != std::string::npos) words.erase(words.find("  "), 1);
  CHECK(words.find(text) != std::string::npos);
}

// In `folder`, with the programs of this build.
Finished run_in(const std::string& folder, std::string command) {
  const std::string programs = "build/stages/";
  command.replace(command.find(programs), programs.size(), ZERO_STAGES "/");
  return run({"bash", "-c", command}, {.seconds = 120, .directory = folder, .environment = {}});
}

}  // namespace

TEST_CASE("the README's table of GPUs is that of the presets") {
  std::string before = "|---|---|---|---|---|---|---|---|";
  for (const NamedGpu& named : gpu_presets()) {
    const Gpu& gpu = named.gpu;
    const std::string line = fmt::format(
        "| `{}` | {} GB | {} GB/s | {} TFLOP/s | {} | {} | `{}` | `{}` |", named.key,
        static_cast<double>(gpu.memory) / 1e9, gpu.bandwidth / 1e9, gpu.half_flops / 1e12,
        gpu.bf16_flops / 1e12, gpu.fp32_flops / 1e12, named.link, named.network);
    check_says(before + " " + line);
    before = line;
    check_says(fmt::format("{:g} us for each kernel's start", gpu.launch_seconds * 1e6));
  }
}

TEST_CASE("the README's table of links is that of the presets") {
  std::string before = "|---|---|---|---|";
  for (const NamedLink& named : link_presets()) {
    const std::string line =
        fmt::format("| `{}` | {} | {:g} us | {} GB/s |", named.key, named.link.name,
                    named.link.latency * 1e6, named.link.bandwidth / 1e9);
    check_says(before + " " + line);
    before = line;
  }
}

TEST_CASE("the README's commands for a simulated cluster run, and fail where it says so") {
  const TemporaryFolder folder;
  std::istringstream lines(section());
  int commands = 0, failures = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("    build/stages/", 0) != 0) continue;
    const Finished finished = run_in(folder.path(), line);
    INFO(finished.describe());
    const std::size_t fails = line.find("# fails: ");
    CHECK((finished.status == 0) == (fails == std::string::npos));
    ++commands;
    if (fails == std::string::npos) continue;
    ++failures;
    CHECK(finished.err.find("the first that may fit: stage 1") != std::string::npos);
  }
  CHECK(commands == 6);
  CHECK(failures == 1);
  CHECK(std::filesystem::exists(folder / "out/xl/rank63.jsonl"));
}

TEST_CASE("an iteration of 1T parameters on 1,024 GPUs takes what the README says") {
  const TemporaryFolder folder;
  double seconds[2] = {}, computing = 0;
  for (int wide = 0; wide < 2; ++wide) {
    const Finished finished = run_in(
        folder.path(),
        "build/stages/zero3 --device simulated --model 1t --ranks 1024 --representative --quiet "
        "--json result.json" +
            std::string(wide == 1 ? " --network-bandwidth 400GB" : ""));
    INFO(finished.describe());
    REQUIRE(finished.status == 0);
    const auto result = nlohmann::json::parse(read_whole_file(folder / "result.json"));
    CHECK(result.at("options").at("context") == 256);
    CHECK(result.at("options").at("batch") == 1024);
    seconds[wide] = result.at("simulated").at("seconds_per_iteration");
    computing = result.at("simulated").at("computing_seconds");
  }
  check_says(
      fmt::format("then take {:.0f} s an iteration; without it {:.0f} s, of which {:.1f} s "
                  "are computing",
                  seconds[1], seconds[0], computing));
}

}  // namespace zero
