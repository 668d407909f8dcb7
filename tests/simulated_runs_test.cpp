// Simulated runs as a user starts them: a trillion parameters on 1,024 GPUs, one rank that stands
// for all, the same command twice, devices that are too small.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.h"
#include "common/trace/reader.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

Finished start(const std::string& stage, const Words& options) {
  Words command = {stage_path(stage), "--device", "simulated"};
  command.insert(command.end(), options.begin(), options.end());
  return run(command, {.seconds = 300, .directory = {}, .environment = {}});
}

// What a run writes with --json, and its output.
struct Outcome {
  json result;
  std::string out;
};

Outcome simulate(const std::string& stage, Words options) {
  const TemporaryFolder folder;
  options.insert(options.end(), {"--json", folder / "result.json"});
  const Finished finished = start(stage, options);
  INFO(finished.describe());
  REQUIRE(finished.status == 0);
  return {json::parse(read_whole_file(folder / "result.json")), finished.out};
}

std::int64_t peak(const json& rank, const char* category) {
  return rank.at("memory").at(category).at("peak");
}

double seconds(const Outcome& outcome) {
  return outcome.result.at("simulated").at("seconds_per_iteration");
}

}  // namespace

TEST_CASE("a trillion parameters on 1,024 GPUs are simulated in less than 2 GB") {
  const TemporaryFolder folder;
  // Of address space, stacks included.
  const std::string command = "ulimit -v 2000000; exec " + stage_path("zero3") +
                              " --device simulated --model 1t --ranks 1024 --quiet --json " +
                              folder / "result.json" + " --trace " + folder / "trace";
  const Finished finished =
      run({"bash", "-c", command}, {.seconds = 300, .directory = {}, .environment = {}});
  INFO(finished.describe());
  REQUIRE(finished.status == 0);
  const json result = json::parse(read_whole_file(folder / "result.json"));
  const std::int64_t N = result.at("padded_parameters"), shard = N / 1024;
  CHECK(N == 1'000'000'025'600);
  REQUIRE(result.at("ranks").size() == 1024);
  for (const json& rank : result.at("ranks")) {
    CHECK(peak(rank, "parameters") == 2 * shard);
    CHECK(peak(rank, "gradients") == 2 * shard);
    CHECK(peak(rank, "optimizer_states") == 12 * shard);
    CHECK(rank.at("sent_bytes_per_iteration") == 3 * 2 * shard * 1023);
    CHECK(rank.at("peak_total").get<std::int64_t>() < 80'000'000'000);  // it fits on an H100
  }
  // The trace of a few ranks stands for those of all.
  const RunTrace trace = read_run(folder / "trace");
  CHECK(trace.notes.empty());
  REQUIRE(trace.ranks.size() == 3);
  CHECK(trace.ranks[2].header.rank == 1023);
  CHECK(trace.ranks[0].header.traced == std::vector<int>{0, 1, 1023});
  CHECK(trace.ranks[0].header.clock == "simulated");
  CHECK(trace.ranks[0].ended);
}

TEST_CASE("rank 0 alone stands for all: the same bytes, and the time of the whole cluster") {
  for (const std::string& stage : kStages) {
    DYNAMIC_SECTION(stage) {
      const Words work = {"--model", "gpt2", "--ranks", "21", "--gpus-per-node", "4", "--quiet"};
      Words one = work;
      one.push_back("--representative");
      const Outcome all = simulate(stage, work), representative = simulate(stage, one);
      CHECK(all.result.at("ranks").size() == 21);
      CHECK(representative.result.at("ranks").at(0) == all.result.at("ranks").at(0));
      CHECK(representative.result.at("closed_form") == all.result.at("closed_form"));
      // Ranks differ in how many tensors their shard has a part of: a kernel each.
      CHECK(seconds(representative) == Approx(seconds(all)).epsilon(0.01));
    }
  }
}

TEST_CASE("a simulation closed at each collective ends when the messages would, or little later") {
  for (const std::string& stage : kStages) {
    DYNAMIC_SECTION(stage) {
      const Words work = {"--model", "gpt2", "--ranks", "5", "--gpus-per-node", "2", "--quiet"};
      Words each = work, closed = work;
      each.insert(each.end(), {"--messages", "each"});
      closed.insert(closed.end(), {"--messages", "closed-form"});
      const double messages = seconds(simulate(stage, each));
      const double formula = seconds(simulate(stage, closed));
      // In closed form all ranks leave a collective with the last.
      CHECK(formula >= messages);
      CHECK(formula <= 1.1 * messages);
    }
  }
}

TEST_CASE("the same simulation gives the same times, bytes and traces") {
  const auto everything = [](const std::string& stage) {
    const TemporaryFolder folder;
    const Outcome outcome = simulate(
        stage, {"--ranks", "5", "--batch", "5", "--iterations", "2", "--trace", folder / "trace"});
    std::string text = outcome.result.dump() + outcome.out;
    for (int rank = 0; rank < 5; ++rank)
      text += read_whole_file(folder / "trace" + "/rank" + std::to_string(rank) + ".jsonl");
    return text;
  };
  for (const std::string& stage : kStages) {
    DYNAMIC_SECTION(stage) { CHECK(everything(stage) == everything(stage)); }
  }
}

TEST_CASE("a simulated GPU that is too small says what does not fit and which stage would") {
  const Words work = {"--model", "7.5b", "--ranks", "64", "--gpu", "v100"};
  for (const std::string stage : {"ddp", "zero1"}) {
    INFO(stage);
    const Finished finished = start(stage, work);
    INFO(finished.describe());
    CHECK(finished.status == 2);
    CHECK(finished.out.empty());
    CHECK_THAT(finished.err, contains_text("the V100 has no memory left: of its 29.80 GiB"));
    CHECK_THAT(finished.err, contains_text("the first that may fit: stage 2"));
  }
  for (const std::string stage : {"zero2", "zero3"}) {
    INFO(stage);
    CHECK(start(stage, work).status == 0);
  }
}

TEST_CASE("a simulated GPU that is just large enough is enough, and one byte less is not") {
  const Words work = {"--ranks", "3", "--batch", "3", "--quiet"};
  for (const std::string& stage : kStages) {
    DYNAMIC_SECTION(stage) {
      const Outcome outcome = simulate(stage, work);
      std::int64_t most = 0;
      for (const json& rank : outcome.result.at("ranks"))
        most = std::max(most, rank.at("peak_total").get<std::int64_t>());
      Words exact = work, less = work;
      exact.insert(exact.end(), {"--gpu-memory", std::to_string(most)});
      less.insert(less.end(), {"--gpu-memory", std::to_string(most - 1)});
      CHECK(start(stage, exact).status == 0);
      CHECK(start(stage, less).status == 2);
    }
  }
}

TEST_CASE("whichever rank overflows, the one that stands for all skips") {
  for (const std::string rank : {"0", "2"}) {
    const Outcome outcome = simulate("zero2", {"--ranks", "3", "--batch", "3", "--iterations", "2",
                                               "--representative", "--overflow-at", rank + ":1"});
    CHECK(outcome.result.at("iterations").at(0).at("skipped") == false);
    CHECK(outcome.result.at("iterations").at(1).at("skipped") == true);
  }
}

TEST_CASE("rank 0 that stands for all is the only one that is traced, and the trace says so") {
  const TemporaryFolder folder;
  const Words work = {"--ranks",         "20", "--batch", "20",
                      "--iterations",    "1",  "--trace", folder / "trace",
                      "--representative"};
  CHECK(start("zero2", work).status == 0);
  const RunTrace run = read_run(folder / "trace");
  CHECK(run.notes.empty());
  REQUIRE(run.ranks.size() == 1);
  CHECK(run.ranks[0].header.traced == std::vector<int>{0});
  Words others = work;
  others.insert(others.end(), {"--trace-ranks", "3"});
  const Finished refused = start("zero2", others);
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, contains_text("--trace-ranks 3: with --representative only rank 0"));
}

TEST_CASE("a small model has the same scratch on any number of ranks, a large one that of a GPU") {
  const auto scratch = [](const Words& options) {
    const Outcome outcome = simulate("ddp", options);
    return peak(outcome.result.at("ranks").at(0), "communication");
  };
  for (const std::string ranks : {"3", "20"})
    CHECK(scratch({"--ranks", ranks, "--batch", ranks, "--iterations", "1"}) == 2 * 2 * 65'536);
  CHECK(scratch({"--ranks", "20", "--model", "gpt2"}) == 2 * 2 * 1'048'576);
}

TEST_CASE("a model by name with other numbers is not described as what it was") {
  const Finished plain = start("ddp", {"--model", "llama3-8b", "--gpu-memory", "1TB"});
  CHECK_THAT(plain.err, contains_text("model: llama3-8b: approximates LLaMA-3 8B"));
  const Finished other =
      start("ddp", {"--model", "llama3-8b", "--gpu-memory", "1TB", "--layers", "9"});
  CHECK_THAT(other.err, contains_text("model: llama3-8b: its shape, but for --layers\n"));
}

TEST_CASE("a cluster that the machine has no memory for ends in one line") {
  const std::string command = "ulimit -v 450000; exec " + stage_path("ddp") +
                              " --device simulated --model gpt2 --ranks 2048 --quiet";
  const Finished finished =
      run({"bash", "-c", command}, {.seconds = 100, .directory = {}, .environment = {}});
  INFO(finished.describe());
  CHECK(finished.status == 1);
  CHECK(finished.errors().size() == 1);
}

TEST_CASE("a faster cluster takes less time, and the bytes stay") {
  const Words work = {"--model", "gpt2-xl", "--ranks", "16", "--representative", "--quiet"};
  const auto with = [&](const Words& more) {
    Words options = work;
    options.insert(options.end(), more.begin(), more.end());
    return simulate("zero3", options);
  };
  const Outcome usual = with({});
  const auto faster = [&](const Words& more) {
    const Outcome other = with(more);
    INFO(more[0]);
    CHECK(seconds(other) < seconds(usual));
    CHECK(other.result.at("ranks") == usual.result.at("ranks"));
  };
  faster({"--gpu-bandwidth", "5TB"});
  faster({"--gpu-flops", "2e15"});
  faster({"--gpu-fp32-flops", "200e12"});
  faster({"--gpu-launch", "1e-6"});
  faster({"--host-latency", "0"});
  faster({"--gpus-per-node", "16"});
  faster({"--network-latency", "1e-6"});
  faster({"--network-bandwidth", "400GB"});
  faster({"--network", "nvlink4"});
  const Outcome h200 = with({"--gpu", "h200"});
  CHECK(seconds(h200) < seconds(usual));
  CHECK(h200.result.at("simulated").at("gpu") == "H200");
}

TEST_CASE("ranks that are to be traced are, others not, and none of an earlier run") {
  const TemporaryFolder folder;
  const std::string trace = folder / "trace";
  const auto traced = [&](const Words& more) {
    Words options = {"--ranks", "6",       "--batch", "6",  "--iterations",
                     "1",       "--quiet", "--trace", trace};
    options.insert(options.end(), more.begin(), more.end());
    const Finished finished = start("zero2", options);
    INFO(finished.describe());
    REQUIRE(finished.status == 0);
    const RunTrace run = read_run(trace);
    CHECK(run.notes.empty());
    std::vector<int> ranks;
    for (const RankTrace& rank : run.ranks) ranks.push_back(rank.header.rank);
    return ranks;
  };
  CHECK(traced({}) == std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(traced({"--trace-ranks", "1,3-4"}) == std::vector<int>{1, 3, 4});
  CHECK(traced({"--trace-ranks", "all"}) == std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(traced({"--trace-ranks", "5"}) == std::vector<int>{5});
}

}  // namespace zero
