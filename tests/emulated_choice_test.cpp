// --device on emulated GPUs: who sits where, what is said of it, what does not fit, and the trace.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "catch.h"
#include "common/trace/reader.h"
#include "tests/support/files.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

using Catch::Matchers::Contains;
using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

Words small(const std::string& stage, int ranks, const Words& more = {}) {
  Words words = {stage_path(stage), "--device", "auto", "--ranks", std::to_string(ranks)};
  for (const std::string& word : words_of(
           "--layers 1 --heads 2 --channels 8 --context 5 --batch 12 --iterations 2 --dtype bf16"))
    words.push_back(word);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Finished run_emulated(const Words& words, const Environment& environment) {
  return run(words, {.seconds = 100, .directory = {}, .environment = environment});
}

// What it says of the device, on a run that works.
std::string notice_of(const Words& words, const Environment& environment) {
  const Finished finished = run_emulated(words, environment);
  INFO(finished.describe());
  CHECK(finished.status == 0);
  std::string notice;
  for (const std::string& line : finished.errors()) {
    if (!line.starts_with("device: ")) continue;
    CHECK(notice.empty());  // once
    notice = line;
  }
  return notice;
}

TEST_CASE("each rank that can have a GPU of its own has one, and they speak through NCCL") {
  const std::string gpu = "device: Emulated GPU, 8.0 GiB, compute capability ";
  const std::string three = notice_of(small("zero1", 3), {{"EMU_DEVICES", "3"}});
  CHECK_THAT(three, Catch::Matchers::StartsWith(gpu) && Contains(" (3 ranks on 3 GPUs, NCCL)"));
  CHECK_THAT(notice_of(small("zero1", 3), {{"EMU_DEVICES", "8"}}), Contains("3 ranks on 3 GPUs"));
  CHECK_THAT(notice_of(small("zero1", 1), {{"EMU_DEVICES", "1"}}),
             Contains("(1 rank on 1 GPU, NCCL)"));
}

TEST_CASE("ranks that share GPUs are told of, and send through the host") {
  CHECK_THAT(
      notice_of(small("zero1", 4), {{"EMU_DEVICES", "2"}}),
      Contains("(4 ranks share 2 GPUs, which NCCL refuses: tensors travel through the host)"));
  CHECK_THAT(
      notice_of(small("zero1", 3), {{"EMU_DEVICES", "1"}}),
      Contains("(3 ranks share 1 GPU, which NCCL refuses: tensors travel through the host)"));
}

TEST_CASE("through NCCL or through the host: the same bits, and the bytes of the formulas") {
  for (const std::string collectives : {"ring", "direct"}) {
    Work work;
    work.collectives = collectives;
    work.batch = 6;
    work.more = {"--device", "cuda"};
    nlohmann::json results[2];
    for (const int shared : {0, 1}) {
      const TemporaryFolder folder;
      Words words = work.command("zero2");
      words.insert(words.end(), {"--json", folder / "result.json"});
      const Finished finished = run_emulated(words, {{"EMU_DEVICES", shared ? "1" : "3"}});
      INFO(finished.describe());
      REQUIRE(finished.status == 0);
      CHECK(finished.err.empty());  // --quiet
      results[shared] = nlohmann::json::parse(read_whole_file(folder / "result.json"));
      CHECK(check_formulas(results[shared], "zero2", work).empty());
      CHECK(results[shared].at("device") == "cuda");
      CHECK(results[shared].at("options").at("device") == "cuda");
    }
    CHECK(bits(results[0]) == bits(results[1]));
  }
}

TEST_CASE("library collectives are NCCL's: refused where ranks share a GPU") {
  const Words library = small("zero3", 3, {"--collectives", "library"});
  const Finished refused = run_emulated(library, {{"EMU_DEVICES", "2"}});
  INFO(refused.describe());
  CHECK(refused.status == 2);
  REQUIRE(refused.errors().size() == 1);
  CHECK_THAT(refused.err, Contains("zero3: --collectives library: NCCL needs a GPU for each rank, "
                                   "and here 3 ranks share 2 GPUs; use ring or direct"));
  const Finished works = run_emulated(library, {{"EMU_DEVICES", "3"}});
  INFO(works.describe());
  CHECK(works.status == 0);
  CHECK_THAT(works.out, Contains("not measured"));
}

TEST_CASE("without a GPU cuda is refused in one line, and auto takes the CPU") {
  Words words = small("zero1", 3);
  CHECK_THAT(notice_of(words, {{"EMU_DEVICES", "0"}}),
             Contains("device: the CPU; there is no GPU that this process may use"));
  words[2] = "cuda";
  const Finished refused = run_emulated(words, {{"EMU_DEVICES", "0"}});
  INFO(refused.describe());
  CHECK(refused.status == 2);
  REQUIRE(refused.errors().size() == 1);
  CHECK_THAT(refused.err, Contains("zero1: --device cuda: there is no GPU"));
}

TEST_CASE("a GPU that no kernels were built for is refused, and how to build them is said") {
  const std::string why =
      "this GPU (Emulated GPU, compute capability 7.5) needs kernels that were not built: "
      "configure with -DCMAKE_CUDA_ARCHITECTURES=75";
  const Environment old = {{"EMU_DEVICES", "3"}, {"EMU_CAPABILITY", "7.5"}};
  Words words = small("zero1", 3);
  CHECK_THAT(notice_of(words, old), Contains("device: the CPU; " + why));
  words[2] = "cuda";
  const Finished refused = run_emulated(words, old);
  INFO(refused.describe());
  CHECK(refused.status == 2);
  REQUIRE(refused.errors().size() == 1);
  CHECK_THAT(refused.err, Contains("zero1: --device cuda: " + why));
  for (const char* enough : {"8.0", "8.9", "12.0"}) {
    const Environment newer = {{"EMU_DEVICES", "3"}, {"EMU_CAPABILITY", enough}};
    CHECK_THAT(notice_of(words, newer),
               Contains(std::string("compute capability ") + enough + " (3 ranks on 3 GPUs"));
  }
}

TEST_CASE("a model that the GPU cannot hold is refused at once, by the GPU's memory") {
  const Finished refused =
      run_emulated(small("ddp", 3), {{"EMU_DEVICES", "1"}, {"EMU_MEMORY", "100000"}});
  INFO(refused.describe());
  CHECK(refused.status == 2);
  REQUIRE(refused.errors().size() == 1);
  CHECK_THAT(refused.err, Contains("this GPU has 100,000 B for 3 of 3 ranks"));
  CHECK_THAT(refused.err, Contains("use a smaller model or more GPUs, or --device cpu"));
}

TEST_CASE("a GPU that runs out of memory on the way says so in one line, and status 2") {
  // The model states of the three ranks fit; what comes on top does not.
  const Finished finished =
      run_emulated(small("ddp", 3), {{"EMU_DEVICES", "1"}, {"EMU_MEMORY", "400000"}});
  INFO(finished.describe());
  CHECK(finished.status == 2);
  std::int64_t told = 0;
  for (const std::string& line : finished.errors()) {
    if (line.starts_with("device: ")) continue;
    ++told;
    CHECK_THAT(line, Contains("out of memory: \"") &&
                         Contains(", but the GPU has no memory left: of its 400,000 B only ") &&
                         Contains("; alive: ") &&
                         Contains("; model states on 3 ranks would be stage 0 ") &&
                         Contains("beside at least ") && Contains("none can fit"));
  }
  CHECK(told == 1);
}

TEST_CASE("a budget counts on a GPU as on the CPU") {
  const Finished finished =
      run_emulated(small("zero1", 2, {"--memory-budget", "300000B"}), {{"EMU_DEVICES", "2"}});
  INFO(finished.describe());
  CHECK(finished.status == 2);
  CHECK_THAT(finished.err, Contains("out of memory") && Contains("stage 3"));
}

// What a rank did, whatever the device: no operators inside operators, no scratch of theirs.
std::vector<std::string> told(const RankTrace& rank) {
  std::vector<std::string> lines;
  for (const TraceEvent& event : rank.events) {
    std::string line = std::to_string(event.what.index());
    if (const auto* step = std::get_if<event::Step>(&event.what)) line += step->caption;
    if (const auto* write = std::get_if<event::Write>(&event.what)) line += write->what;
    const bool varies = std::holds_alternative<event::Allocate>(event.what) ||
                        std::holds_alternative<event::Free>(event.what) ||
                        std::holds_alternative<event::OperatorBegin>(event.what) ||
                        std::holds_alternative<event::OperatorEnd>(event.what);
    if (!varies) lines.push_back(line);
  }
  return lines;
}

TEST_CASE("a trace has the device's times, in order, and tells what a trace of the CPU tells") {
  const TemporaryFolder folder;
  REQUIRE(
      run_emulated(small("zero3", 3, {"--trace", folder / "cpu"}), {{"EMU_DEVICES", "0"}}).status ==
      0);
  const RunTrace cpu = read_run(folder / "cpu");
  for (const char* devices : {"3", "1"}) {
    INFO(devices);
    const std::string traced = folder / devices;
    const Finished finished =
        run_emulated(small("zero3", 3, {"--trace", traced}), {{"EMU_DEVICES", devices}});
    INFO(finished.describe());
    REQUIRE(finished.status == 0);
    const RunTrace run = read_run(traced);
    CHECK(run.notes.empty());
    REQUIRE(run.ranks.size() == 3);
    for (const RankTrace& rank : run.ranks) {
      CHECK(rank.header.clock == "device");
      CHECK(rank.ended);
      std::int64_t last = 0, depth = 0, operators = 0;
      for (const TraceEvent& event : rank.events) {
        CHECK(event.t >= last);
        last = event.t;
        if (std::holds_alternative<event::OperatorBegin>(event.what)) ++depth, ++operators;
        if (std::holds_alternative<event::OperatorEnd>(event.what)) --depth;
      }
      CHECK(depth == 0);
      CHECK(operators > 20);
      CHECK(last > 0);
      CHECK(told(rank) == told(cpu.ranks.at(static_cast<std::size_t>(rank.header.rank))));
    }
  }
}

TEST_CASE("a trace changes no bit, and a stream that runs late does not either") {
  const TemporaryFolder folder;
  const Words plain = small("zero2", 3);
  const std::string expected = run_emulated(plain, {{"EMU_DEVICES", "3"}}).out;
  CHECK_FALSE(expected.empty());
  for (const char* streams : {"eager", "lazy", "threads"}) {
    INFO(streams);
    const Finished finished =
        run_emulated(small("zero2", 3, {"--trace", folder / streams, "--trace-values"}),
                     {{"EMU_DEVICES", "3"}, {"EMU_STREAMS", streams}});
    INFO(finished.describe());
    CHECK(finished.out == expected);
    CHECK(read_run(folder / streams).notes.empty());
  }
}

TEST_CASE("a rank that fails on a GPU leaves a trace that says why") {
  const TemporaryFolder folder;
  const Finished finished =
      run_emulated(small("ddp", 3, {"--trace", folder / "trace"}),
                   {{"EMU_DEVICES", "1"}, {"EMU_MEMORY", "400000"}, {"EMU_STREAMS", "lazy"}});
  INFO(finished.describe());
  CHECK(finished.status == 2);
  const RunTrace run = read_run(folder / "trace");
  bool said = false;
  for (const RankTrace& rank : run.ranks) {
    if (rank.events.empty()) continue;
    if (const auto* end = std::get_if<event::End>(&rank.events.back().what))
      said = said || end->reason == "failed";
  }
  CHECK(said);
}

TEST_CASE("compare names the device in its title, and tells once which it is") {
  const Words words = small("compare", 3, {"--width", "200"});
  for (const char* devices : {"3", "1"}) {
    const Finished finished = run_emulated(words, {{"EMU_DEVICES", devices}});
    INFO(finished.describe());
    CHECK(finished.status == 0);
    CHECK_THAT(finished.out, Contains("3 ranks, cuda, bf16") && Contains("same bits: yes") &&
                                 Contains("measured = formula: yes"));
    const auto lines = finished.errors();
    CHECK(std::count_if(lines.begin(), lines.end(),
                        [](const std::string& line) { return line.starts_with("device: "); }) == 1);
  }
}

TEST_CASE("compare shows NCCL's own collectives where each rank has a GPU, and says where not") {
  const Words words = small("compare", 4, {"--collectives-agree"});
  const Finished all = run_emulated(words, {{"EMU_DEVICES", "4"}});
  INFO(all.describe());
  CHECK(all.status == 0);
  CHECK(all.out.find("not available") == std::string::npos);
  CHECK_THAT(all.out, Contains("DDP, cuda"));
  const Finished two = run_emulated(words, {{"EMU_DEVICES", "2"}});
  INFO(two.describe());
  CHECK(two.status == 0);
  CHECK_THAT(two.out, Contains("library is not available: ddp: --collectives library: NCCL needs"));
}

}  // namespace
}  // namespace zero
