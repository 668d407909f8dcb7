// What a run leaves behind: dumped states, fingerprints, safetensors; read back by other programs.
#include "catch.h"
#include "tests/support/dumped_state.h"
#include "tests/support/files.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

using nlohmann::json;

Finished python(const std::string& script, std::vector<std::string> words) {
  words.insert(words.begin(), {"python3", source_path("tests/" + script)});
  return run(words);
}

Work small_work(int ranks, const std::string& dtype) {
  Work work;
  work.ranks = ranks;
  work.dtype = dtype;
  work.layers = 1;
  work.heads = 3;
  work.channels = 9;
  work.batch = 15;
  work.iterations = 2;
  return work;
}

}  // namespace

TEST_CASE("fingerprints computed again from the dumped state are the programs' own") {
  for (const std::string& stage : kStages) {
    for (const int ranks : {1, 3, 5}) {
      for (const std::string dtype : {"fp16", "fp32"}) {
        DYNAMIC_SECTION(stage << ", " << ranks << " ranks, " << dtype) {
          const TemporaryFolder folder;
          Work work = small_work(ranks, dtype);
          work.more = {"--dump-state", folder / "state"};
          const json result = run_stage(stage, work);
          const Finished finished = python("fingerprint.py", {folder / "state"});
          INFO(finished.describe());
          REQUIRE(finished.status == 0);
          const std::string expected = result.at("iterations").back().at("fingerprint");
          CHECK(finished.out == expected + "\n");
        }
      }
    }
  }
}

TEST_CASE(
    "one changed bit of a dumped state changes the fingerprint, or is found by the replicas") {
  const TemporaryFolder folder;
  Work work = small_work(3, "fp16");
  work.more = {"--dump-state", folder / "state"};
  run_stage("zero3", work);
  const std::string before = python("fingerprint.py", {folder / "state"}).out;
  for (const std::string state : {"parameters", "master", "exp_avg", "exp_avg_sq"}) {
    INFO(state);
    const std::string file = folder / ("state/rank1_" + state + ".bin");
    const std::string content = read_whole_file(file);
    std::string changed = content;
    changed[17] = static_cast<char>(changed[17] ^ 4);
    write_whole_file(file, changed);
    const Finished after = python("fingerprint.py", {folder / "state"});
    CHECK(after.status == 0);
    CHECK(after.out != before);
    write_whole_file(file, content);
  }
  CHECK(python("fingerprint.py", {folder / "state"}).out == before);
}

TEST_CASE("each rank dumps what it holds, and no more: the closed form, in files") {
  for (const std::string& stage : kStages) {
    INFO(stage);
    const TemporaryFolder folder;
    Work work = small_work(5, "bf16");
    work.more = {"--dump-state", folder / "state"};
    run_stage(stage, work);
    const Expected expected(stage, work);
    for (int rank = 0; rank < 5; ++rank) {
      std::int64_t states = 0;
      const auto size_of = [&](const std::string& state) {
        return static_cast<std::int64_t>(std::filesystem::file_size(
            folder / ("state/rank" + std::to_string(rank) + "_" + state + ".bin")));
      };
      for (const std::string state : {"master", "exp_avg", "exp_avg_sq"}) states += size_of(state);
      CHECK(states == expected.optimizer_states);
      CHECK(size_of("parameters") == expected.parameters);
    }
  }
}

TEST_CASE("a dump over an older one of more ranks leaves none of theirs") {
  const TemporaryFolder folder;
  const auto dump = [&](const std::string& ranks) {
    const Finished finished =
        run({stage_path("zero3"), "--ranks", ranks, "--layers", "1", "--channels", "8", "--heads",
             "1", "--iterations", "1", "--quiet", "--dump-state", folder / "state"});
    INFO(finished.describe());
    REQUIRE(finished.status == 0);
  };
  dump("5");
  CHECK(std::filesystem::exists(folder / "state/rank4_master.bin"));
  dump("3");
  CHECK(std::filesystem::exists(folder / "state/rank2_master.bin"));
  CHECK_FALSE(std::filesystem::exists(folder / "state/rank3_master.bin"));
}

TEST_CASE("the saved model is the dumped parameters, in GPT-2's orientation, in the same bytes") {
  for (const std::string dtype : {"fp32", "fp16", "bf16"}) {
    DYNAMIC_SECTION(dtype) {
      std::string first;
      for (const std::string& stage : kStages) {
        INFO(stage);
        const TemporaryFolder folder;
        Work work = small_work(3, dtype);
        work.more = {"--dump-state", folder / "state", "--save", folder / "model"};
        run_stage(stage, work);
        const Finished finished =
            python("read_safetensors.py", {folder / "model", folder / "state"});
        INFO(finished.describe());
        CHECK(finished.status == 0);
        CHECK(finished.out == "17 tensors\n");
        CHECK_FALSE(std::filesystem::exists(folder / "model.partial"));
        const std::string content = read_whole_file(folder / "model");
        if (first.empty()) first = content;
        CHECK(content == first);
      }
    }
  }
}

TEST_CASE("saving a model larger than one chunk, with borders of shards inside its tensors") {
  // 16,384 elements travel at a time; wte alone has 33 * 1,000.
  std::string first;
  for (const std::string& stage : kStages) {
    INFO(stage);
    const TemporaryFolder folder;
    Work work = small_work(3, "fp16");
    work.channels = 33;
    work.vocab = 1000;
    work.iterations = 1;
    work.more = {"--dump-state", folder / "state", "--save", folder / "model"};
    run_stage(stage, work);
    const Finished finished = python("read_safetensors.py", {folder / "model", folder / "state"});
    INFO(finished.describe());
    CHECK(finished.status == 0);
    const std::string content = read_whole_file(folder / "model");
    if (first.empty()) first = content;
    CHECK(content == first);
  }
}

TEST_CASE("the initial weights are the same file for any stage and any number of ranks") {
  for (const std::string dtype : {"fp32", "bf16"}) {
    DYNAMIC_SECTION(dtype) {
      std::string first;
      for (const std::string& stage : kStages) {
        for (const int ranks : {1, 3, 5}) {
          const TemporaryFolder folder;
          Work work = small_work(ranks, dtype);
          work.iterations = 1;
          work.more = {"--save-initial", folder / "initial"};
          run_stage(stage, work);
          const std::string content = read_whole_file(folder / "initial");
          if (first.empty()) first = content;
          INFO(stage << ", " << ranks << " ranks");
          CHECK(content == first);
        }
      }
    }
  }
}

TEST_CASE("without a step the saved model is the initial one") {
  // The only iteration overflows, so that nothing is updated.
  for (const std::string& stage : kStages) {
    INFO(stage);
    const TemporaryFolder folder;
    Work work = small_work(3, "fp16");
    work.iterations = 1;
    work.more = {
        "--overflow-at",    "1:0",          "--save",        folder / "model", "--save-initial",
        folder / "initial", "--dump-state", folder / "state"};
    run_stage(stage, work);
    CHECK(read_whole_file(folder / "model") == read_whole_file(folder / "initial"));
    for (const std::string state : {"exp_avg", "exp_avg_sq"}) {
      const auto bits = read_state(folder / "state", state);
      CHECK(std::count(bits.begin(), bits.end(), 0u) == static_cast<std::int64_t>(bits.size()));
    }
  }
}

TEST_CASE("padding stays zero in every state") {
  for (const std::string& stage : kStages) {
    INFO(stage);
    const TemporaryFolder folder;
    Work work = small_work(5, "fp16");
    work.iterations = 3;
    work.more = {"--dump-state", folder / "state"};
    const json result = run_stage(stage, work);
    const std::size_t N = result.at("num_parameters"), padded = result.at("padded_parameters");
    REQUIRE(padded > N);
    for (const std::string state : {"parameters", "master", "exp_avg", "exp_avg_sq"}) {
      const auto bits = read_state(folder / "state", state);
      REQUIRE(bits.size() == padded);
      for (std::size_t i = N; i < padded; ++i) CHECK(bits[i] == 0);
    }
  }
}

TEST_CASE("PyTorch reads the saved tensors, where it is installed") {
  std::string interpreter;
  for (const std::string candidate : {"python3", "/usr/bin/python3"}) {
    if (run({candidate, "-c", "import torch"}).status == 0) interpreter = candidate;
  }
  if (interpreter.empty()) {
    WARN("python3-torch is not installed");
    return;
  }
  for (const std::string dtype : {"fp32", "fp16", "bf16"}) {
    const TemporaryFolder folder;
    Work work = small_work(3, dtype);
    work.more = {"--dump-state", folder / "state", "--save", folder / "model"};
    run_stage("zero3", work);
    const Finished finished = run({interpreter, source_path("tests/read_safetensors.py"),
                                   folder / "model", folder / "state", "--torch"});
    INFO(finished.describe());
    CHECK(finished.status == 0);
  }
}

}  // namespace zero
