// The command line: what cannot be used gets one line that says what to do, exit 2, and writes
// nothing; what fails later says so too.
#include <algorithm>
#include <array>
#include <cstring>

#include "catch.h"
#include "tests/support/files.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

using Words = std::vector<std::string>;

Finished run_with(const std::string& stage, const Words& options) {
  Words command = {stage_path(stage)};
  command.insert(command.end(), options.begin(), options.end());
  return run(command, {.seconds = 20, .directory = {}, .environment = {}});
}

// A small run that works, to which one thing is added.
Words small(const Words& more = {}) {
  Words words = {"--dtype",   "bf16", "--ranks", "3", "--layers", "1", "--channels", "8",
                 "--context", "5",    "--batch", "3", "--heads",  "2", "--quiet"};
  const bool given = std::find(more.begin(), more.end(), "--iterations") != more.end();
  if (!given) words.insert(words.end(), {"--iterations", "1"});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Exit 2, nothing on standard output, and one line that contains `what`.
void check_refused(const Words& options, const std::string& what) {
  const Finished finished = run_with("zero2", options);
  INFO(finished.describe());
  CHECK(finished.status == 2);
  CHECK_FALSE(finished.timed_out);
  CHECK(finished.out.empty());
  REQUIRE(finished.errors().size() == 1);
  CHECK_THAT(finished.errors()[0], contains_text(what));
  CHECK_THAT(finished.errors()[0], Catch::Matchers::StartsWith("zero2: "));
}

}  // namespace

TEST_CASE("options that do not exist, and values that are no such values, are refused") {
  check_refused({"--no-such-option"}, "--no-such-option");
  check_refused({"--rank", "3"}, "--help");
  check_refused({"text.txt"}, "text.txt");
  check_refused({"--ranks"}, "--ranks");
  check_refused({"--ranks", "three"}, "three");
  check_refused({"--ranks", "3x"}, "3x");
  check_refused({"--ranks", "2.5"}, "--ranks = 2.5: no number that this option takes");
  check_refused({"--ranks", ""}, "--ranks");
  check_refused({"--learning-rate", "fast"}, "fast");
  check_refused({"--dtype", "fp8"}, "fp16");
  check_refused({"--collectives", "tree"}, "direct");
  check_refused({"--device", "gpu"}, "auto, cpu, cuda");
  check_refused({"--memory-budget", "lots"}, "64MiB");
  check_refused({"--memory-budget", "-5"}, "64MiB");
  check_refused({"--memory-budget", "nan"}, "64MiB");
  check_refused({"--overflow-at", "1"}, "RANK:ITERATION");
  check_refused({"--overflow-at", "1:2:3"}, "RANK:ITERATION");
  check_refused({"--overflow-at", "4:0"}, "no rank 4");
  check_refused({"--overflow-at", "0:20"}, "no iteration 20");
  check_refused({"--seed", "-1"}, "--seed");
}

TEST_CASE("numbers out of range are refused, however large") {
  check_refused({"--ranks", "0"}, "--ranks 0");
  check_refused({"--ranks", "-1"}, "--ranks -1");
  check_refused({"--ranks", "65", "--batch", "65"}, "at most 64");
  check_refused({"--ranks", "99999999999999999999"}, "--ranks");
  for (const std::string option : {"--layers", "--heads", "--channels", "--context", "--batch",
                                   "--iterations", "--threads", "--loss-scale-window"}) {
    INFO(option);
    check_refused({option, "0"}, option);
    check_refused({option, "-3"}, option);
    check_refused({option, "4294967297"}, option);  // 1, if it were cut to 32 bits
  }
  for (const std::string option :
       {"--layers", "--channels", "--context", "--batch", "--threads", "--ranks", "--vocab"}) {
    INFO(option);
    check_refused({option, "2000000000"}, option);
  }
  check_refused({"--vocab", "1"}, "--vocab");
  check_refused({"--vocab", "65537"}, "65536");
  check_refused({"--warmup", "-1"}, "--warmup");
  check_refused({"--trace-iterations", "-1"}, "--trace-iterations");
  for (const std::string option :
       {"--learning-rate", "--clip", "--weight-decay", "--loss-scale", "--timeout"}) {
    INFO(option);
    check_refused({option, "-1"}, option);
    check_refused({option, "nan"}, option);
    check_refused({option, "inf"}, option);
  }
  check_refused({"--timeout", "1e300"}, "--timeout");
  check_refused({"--loss-scale", "3"}, "power of two");
  check_refused({"--loss-scale", "33554432"}, "2^24");
}

TEST_CASE("a simulated cluster that cannot be is refused") {
  const auto refused = [](Words options, const std::string& what) {
    options.insert(options.end(), {"--device", "simulated"});
    check_refused(options, what);
  };
  refused({"--gpu", "rtx"}, "--gpu rtx: choose one of v100, a100, h100, h200");
  refused({"--link", "string"}, "--link string: choose one of");
  refused({"--network", "string"}, "--network string: choose one of");
  refused({"--gpu-memory", "0GB"}, "--gpu-memory");
  refused({"--gpu-memory", "much"}, "--gpu-memory");
  refused({"--gpu-flops", "-1"}, "--gpu-flops -1");
  refused({"--gpu-flops", "0"}, "above 0");
  refused({"--gpu-launch", "nan"}, "--gpu-launch nan");
  refused({"--link-latency", "1us"}, "--link-latency 1us");
  refused({"--link-bandwidth", "0"}, "--link-bandwidth");
  refused({"--gpus-per-node", "0"}, "--gpus-per-node 0");
  refused({"--messages", "some"}, "auto, each, closed-form");
  refused({"--messages", "closed-form", "--collectives", "direct"}, "--collectives ring");
  refused({"--representative", "--collectives", "direct"}, "--collectives ring");
  refused({"--representative", "--messages", "each"}, "--messages each");
  refused({"--collectives", "library"}, "ring");
  refused({"--ranks", "20000"}, "at most 16384");
  refused({"--ranks", "2049", "--batch", "2049"}, "add --representative");
  refused({"--ranks", "100"}, "use --batch 100 or --ranks 120");
  refused({"--network-bandwidth", "1"}, "days");
  refused({"--save", "/tmp/x"}, "--save: a simulated device stores");
  refused({"--trace-values", "--trace", "/tmp/x"}, "--trace-values");
  refused({"--data", "/tmp/x"}, "--data");
  check_refused({"--gpu", "h100"}, "add --device simulated");
  check_refused({"--representative"}, "add --device simulated");
}

TEST_CASE("models by name, ranks to trace and the length of messages are read with care") {
  check_refused({"--model", "gpt5"}, "gpt2, gpt2-xl, 7.5b, llama3-8b");
  check_refused({"--model", ""}, "--model");
  check_refused({"--chunk", "0"}, "--chunk 0");
  check_refused({"--chunk", "64k"}, "--chunk 64k");
  check_refused({"--trace-ranks", "0"}, "--trace");
  for (const std::string ranks : {"4", "0,4", "2-1", "0-4", "a", "0,", "-1", "0--1", "1.5"}) {
    check_refused({"--trace", "/tmp/x", "--trace-ranks", ranks}, "numbers from 0 to 3");
  }
}

TEST_CASE("a model that no machine holds is refused at once") {
  check_refused({"--layers", "10000", "--channels", "131072"}, "--layers");
  check_refused({"--batch", "1048576", "--ranks", "1", "--context", "100"}, "--batch");
}

TEST_CASE("numbers that do not fit together are refused, and the nearest that do are named") {
  check_refused({"--batch", "10", "--ranks", "4"}, "use --batch 8 or --ranks 5");
  check_refused({"--batch", "11", "--ranks", "4"}, "--batch 12");
  check_refused({"--batch", "3", "--ranks", "5"}, "use --batch 5 or --ranks 3");
  check_refused({"--ranks", "7"}, "--batch 119");
  check_refused({"--channels", "64", "--heads", "5"}, "use --channels 60 or 65");
  check_refused({"--channels", "3", "--heads", "5"}, "--channels 5");
  check_refused({"--dtype", "fp32", "--fp32-grads"}, "leave it out");
  check_refused({"--collectives", "library"}, "mpirun");
  check_refused({"--trace-values"}, "--trace");
}

TEST_CASE("the number of ranks and the batch that a message names do work") {
  check_refused({"--batch", "14", "--ranks", "3"}, "use --batch 15 or --ranks 2");
  CHECK(run_with("zero2", {"--batch", "15", "--ranks", "3", "--layers", "1", "--iterations", "1"})
            .status == 0);
  for (const std::string ranks : {"1", "2", "3", "4", "5", "6", "8"}) {
    // The default batch suits them all.
    const Finished finished =
        run_with("zero2", {"--ranks", ranks, "--layers", "1", "--channels", "8", "--context", "3",
                           "--heads", "1", "--iterations", "1", "--quiet"});
    INFO(finished.describe());
    CHECK(finished.status == 0);
  }
}

TEST_CASE("a text that is missing, empty, a folder or too short is refused") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& name, const std::string& content,
                           const std::string& what) {
    INFO(name);
    write_whole_file(folder / name, content);
    check_refused(small({"--data", folder / name}), what);
  };
  check_refused(small({"--data", folder / "missing"}), "check the name");
  check_refused(small({"--data", folder.path()}), "is a folder");
  refused("empty", "", "is empty");
  refused("one", "a", "use a longer one");
  refused("short", "abcde", "at most --context 4");
  refused("empty.bin", "", "is empty");
  refused("short.bin", "abcdefgh", "the header alone has 1024");
  refused("magic.bin", std::string(1030, '\0'), "expected 20240520");
  check_refused({"--context", "1048576", "--batch", "4"}, "so at most --context");

  std::string content(1024 + 12, '\0');
  const std::array<std::int32_t, 3> header = {20240520, 1, 6};
  std::memcpy(content.data(), header.data(), sizeof(header));
  content[1024 + 9] = 1;  // token 256
  write_whole_file(folder / "vocab.bin", content);
  check_refused(small({"--data", folder / "vocab.bin", "--vocab", "256"}),
                "token 256 at 4 is outside --vocab 256; raise --vocab");
}

TEST_CASE("outputs that cannot be written are refused before anything runs") {
  const TemporaryFolder folder;
  write_whole_file(folder / "file", "");
  for (const std::string option : {"--json", "--save", "--save-initial"}) {
    INFO(option);
    check_refused(small({option, folder / "missing/out"}), option);
    check_refused(small({option, folder / "file/out"}), option);
    check_refused(small({option, folder.path()}), "is a folder");
  }
  for (const std::string option : {"--save", "--save-initial"})
    check_refused(small({option, "/dev/null"}), "ordinary file");
  for (const std::string option : {"--trace", "--dump-state"}) {
    INFO(option);
    check_refused(small({option, folder / "file/out"}), option);
    check_refused(small({option, folder / "file"}), "is a file");
  }
  std::filesystem::remove(folder / "file");
  CHECK(folder.is_empty());
}

TEST_CASE("a command line that is refused leaves nothing behind") {
  const TemporaryFolder folder;
  const Words outputs = {"--json",         folder / "json",    "--save",       folder / "save",
                         "--save-initial", folder / "initial", "--dump-state", folder / "state",
                         "--trace",        folder / "trace"};
  for (const Words& wrong : std::vector<Words>{{"--ranks", "7"},
                                               {"--data", "/no/such/text"},
                                               {"--unknown"},
                                               {"--trace-iterations", "-1"},
                                               {"--data", folder.path()}}) {
    Words words = wrong;
    words.insert(words.end(), outputs.begin(), outputs.end());
    INFO(wrong[0]);
    const Finished finished = run_with("zero3", words);
    INFO(finished.describe());
    CHECK(finished.status == 2);
    CHECK(folder.is_empty());
  }
}

TEST_CASE("a budget that is too small says what was asked, what is alive, and which stage fits") {
  const Finished finished = run_with("ddp", small({"--memory-budget", "300000B"}));
  INFO(finished.describe());
  CHECK(finished.status == 2);
  for (const std::string part : {"out of memory", "needs", "alive:", "communication", "stage 0",
                                 "stage 1", "stage 2", "stage 3", "step \""})
    CHECK_THAT(finished.err, contains_text(part));
  CHECK(finished.errors().size() <= 3);  // at most one a rank

  const TemporaryFolder folder;
  const Words with_output = small({"--json", folder / "json", "--save", folder / "save"});
  Words words = with_output;
  words.insert(words.end(), {"--memory-budget", "1000"});
  CHECK(run_with("zero1", words).status == 2);
  CHECK(folder.is_empty());
}

TEST_CASE("a stage that the activations leave no room for is not recommended") {
  // Beside these states there is room for the activations of one sequence each, not of forty: seen
  // already where the parameters do not fit.
  for (const bool large : {false, true}) {
    Words words = small({"--memory-budget", "340000B"});
    if (large) *(std::find(words.begin(), words.end(), "--batch") + 1) = "120";
    const Finished finished = run_with("ddp", words);
    INFO(finished.describe());
    CHECK(finished.status == 2);
    CHECK_THAT(finished.err, contains_text("step \"0. Start: "));
    CHECK_THAT(finished.err,
               contains_text(large ? "none can fit" : "the first that may fit: stage "));
    CHECK(run_with("zero3", words).status == (large ? 2 : 0));
  }
}

TEST_CASE("the budget that a run needed is enough for it, and one byte less is not") {
  for (const std::string& stage : kStages) {
    INFO(stage);
    Work work;
    work.iterations = 2;
    std::int64_t most = 0;
    const nlohmann::json result = run_stage(stage, work);
    for (const auto& rank : result.at("ranks"))
      most = std::max(most, rank.at("peak_total").get<std::int64_t>());
    Words enough = work.command(stage), too_little = enough;
    enough.insert(enough.end(), {"--memory-budget", std::to_string(most)});
    too_little.insert(too_little.end(), {"--memory-budget", std::to_string(most - 1)});
    const Finished works = run(enough), fails = run(too_little);
    INFO(works.describe() << fails.describe());
    CHECK(works.status == 0);
    CHECK(fails.status == 2);
  }
}

TEST_CASE("the --help teaches every option, and is no error") {
  for (const std::string& stage : kStages) {
    const Finished finished = run_with(stage, {"--help"});
    INFO(finished.describe());
    CHECK(finished.status == 0);
    CHECK(finished.err.empty());
    for (const std::string option : {"--ranks",
                                     "--dtype",
                                     "--collectives",
                                     "--device",
                                     "--layers",
                                     "--heads",
                                     "--channels",
                                     "--context",
                                     "--vocab",
                                     "--batch",
                                     "--iterations",
                                     "--learning-rate",
                                     "--warmup",
                                     "--clip",
                                     "--weight-decay",
                                     "--seed",
                                     "--data",
                                     "--fp32-grads",
                                     "--memory-budget",
                                     "--threads",
                                     "--trace",
                                     "--trace-iterations",
                                     "--trace-values",
                                     "--json",
                                     "--save",
                                     "--save-initial",
                                     "--dump-state",
                                     "--quiet",
                                     "--loss-scale",
                                     "--loss-scale-window",
                                     "--overflow-at",
                                     "--fill-nan",
                                     "--timeout",
                                     "--version",
                                     "--model",
                                     "--chunk",
                                     "--trace-ranks",
                                     "--gpu",
                                     "--gpu-memory",
                                     "--gpu-bandwidth",
                                     "--gpu-flops",
                                     "--gpu-fp32-flops",
                                     "--gpu-launch",
                                     "--gpus-per-node",
                                     "--link",
                                     "--link-latency",
                                     "--link-bandwidth",
                                     "--network",
                                     "--network-latency",
                                     "--network-bandwidth",
                                     "--host-latency",
                                     "--messages",
                                     "--representative"}) {
      INFO(option);
      // At the beginning of a line of its own, with an explanation behind it.
      const std::size_t at = finished.out.find("\n  " + option + " ");
      const std::size_t flag = finished.out.find("\n  -h,--help");
      CHECK(flag != std::string::npos);
      REQUIRE((at != std::string::npos || finished.out.find(option + "\n") != std::string::npos));
    }
    CHECK_THAT(finished.out, contains_text("mpirun"));
  }
}

TEST_CASE("with --quiet nothing is printed, and otherwise the same command prints the same bits") {
  CHECK(run_with("zero3", small()).out.empty());
  CHECK(run_with("zero3", small()).err.empty());
  Words told = small();
  std::erase(told, "--quiet");
  const Finished once = run_with("zero3", told);
  CHECK_FALSE(once.out.empty());
  CHECK(once.out == run_with("zero3", told).out);
}

TEST_CASE("a disk that is full is named, and the exit status is not 0") {
  const TemporaryFolder folder;
  const Finished json = run_with("zero1", small({"--json", "/dev/full"}));
  INFO(json.describe());
  CHECK(json.status == 1);
  CHECK_THAT(json.err, contains_text("/dev/full") && contains_text("No space left"));
  CHECK(std::filesystem::is_character_file("/dev/full"));  // and not replaced by a file

  std::filesystem::create_directory(folder / "state");
  std::filesystem::create_symlink("/dev/full", folder / "state/rank1_master.bin");
  const Finished state = run_with("zero1", small({"--dump-state", folder / "state"}));
  INFO(state.describe());
  CHECK(state.status == 1);
  CHECK_THAT(state.err, contains_text("rank1_master.bin") && contains_text("No space left"));
  CHECK_FALSE(std::filesystem::exists(folder / "state/index.json"));
}

TEST_CASE("a trace that finds the disk full ends there, says so, and the run goes on") {
  // The shell lets no file grow beyond 32 blocks of 512 bytes: more than the header, less than all.
  const TemporaryFolder folder;
  std::string command = "trap '' XFSZ; ulimit -f 32; exec " + stage_path("zero1");
  for (const std::string& word : small({"--trace", folder / "trace", "--iterations", "5"}))
    command += " " + word;
  const Finished finished = run({"sh", "-c", command});
  INFO(finished.describe());
  CHECK(finished.status == 0);
  CHECK(finished.errors().size() == 3);  // once a rank
  CHECK_THAT(finished.err, contains_text("rank1.jsonl") && contains_text("too large"));
}

TEST_CASE("a trace that cannot even begin is an error") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "trace");
  std::filesystem::create_symlink("/dev/full", folder / "trace/rank1.jsonl");
  const Finished finished = run_with("zero1", small({"--trace", folder / "trace"}));
  INFO(finished.describe());
  CHECK(finished.status == 1);
  CHECK_THAT(finished.err, contains_text("rank1.jsonl") && contains_text("No space left"));
}

TEST_CASE("a model that does not fit on the disk is not half written") {
  // The shell lets no file grow beyond 4 blocks of 512 bytes.
  const TemporaryFolder folder;
  for (const std::string option : {"--save", "--save-initial"}) {
    std::string command = "trap '' XFSZ; ulimit -f 4; exec " + stage_path("zero3");
    for (const std::string& word : small({option, folder / "model.safetensors"}))
      command += " " + word;
    const Finished finished = run({"sh", "-c", command});
    INFO(finished.describe());
    CHECK(finished.status == 1);
    CHECK_THAT(finished.err, contains_text("model.safetensors") && contains_text("too large"));
    CHECK(folder.is_empty());
  }
}

TEST_CASE("with --json a pipe or a device is written as it is") {
  const Finished finished = run_with("zero2", small({"--json", "/dev/stdout"}));
  INFO(finished.describe());
  REQUIRE(finished.status == 0);
  CHECK(nlohmann::json::parse(finished.out).at("world_size") == 3);
}

TEST_CASE("an empty value is a mistake, not a missing option") {
  for (const std::string option : {"--json", "--save", "--save-initial", "--trace", "--dump-state",
                                   "--data", "--memory-budget", "--overflow-at", "--seed"}) {
    check_refused({option, ""}, option + ": needs a value");
  }
}

TEST_CASE("two outputs do not share a file") {
  check_refused({"--json", "same", "--save", "same"}, "name two files");
  check_refused({"--save", "same", "--save-initial", "same"}, "name two files");
}

TEST_CASE("a device that is too small leaves no output behind") {
  const TemporaryFolder folder;
  const Finished finished =
      run_with("zero2", {"--memory-budget", "1MiB", "--json", folder / "a.json", "--save",
                         folder / "b.safetensors", "--save-initial", folder / "c.safetensors",
                         "--dump-state", folder / "state", "--quiet"});
  INFO(finished.describe());
  CHECK(finished.status == 2);
  CHECK(finished.errors().size() == 1);
  CHECK(folder.is_empty());
}

TEST_CASE("numbers are read whole: nothing wraps around or saturates") {
  check_refused({"--seed", "-1"}, "0 to 2^64 - 1");
  check_refused({"--seed", "18446744073709551616"}, "0 to 2^64 - 1");
  check_refused({"--overflow-at", "4294967296:0"}, "RANK:ITERATION");
  check_refused({"--overflow-at", "+0:0"}, "RANK:ITERATION");
  check_refused({"--overflow-at", "0: 0"}, "RANK:ITERATION");
  check_refused({"--heads", "2147483647"}, "use --heads 128");
}

TEST_CASE("data that never ends, or cannot be read, is refused") {
  check_refused({"--data", "/dev/zero"}, "is a device");
  check_refused({"--data", "/proc/self/mem"}, "cannot be read");
}

TEST_CASE("a batch whose activations no memory holds is refused at once") {
  check_refused({"--batch", "1048576"}, "activations");
}

TEST_CASE("output that cannot be written is no success, and a closed error stream no crash") {
  const std::string small_run = "--layers 1 --channels 8 --heads 1 --batch 4 --iterations 1";
  const auto shell = [&](const std::string& redirections) {
    return run({"/bin/sh", "-c", stage_path("zero2") + " " + small_run + " " + redirections});
  };
  const Finished full = shell("> /dev/full");
  INFO(full.describe());
  CHECK(full.status == 1);
  CHECK_THAT(full.err, contains_text("cannot write to standard output"));
  CHECK(shell("> /dev/null 2>&-").status == 0);
}

}  // namespace zero
