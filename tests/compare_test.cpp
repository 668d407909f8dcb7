// compare, on small stage programs that say what the test wants them to say.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::vector<std::string> kStages = {"ddp", "zero1", "zero2", "zero3"};

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

fs::path built_programs() {
  return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "stages";
}

struct Outcome {
  int status = 0;
  std::string out, err;
};

// 1,000 parameters on 3 ranks, padded to 1,002, so shards of 334; fp16, 12 bytes of states.
// Written out rather than computed: they are what the formulas must give.
Json closed_form(const std::string& stage) {
  const int parameters = stage == "zero3" ? 668 : 2004;
  const int gradients = stage == "ddp" || stage == "zero1" ? 2004 : 668;
  const int states = stage == "ddp" ? 12024 : 4008;
  return {{"parameters", parameters},
          {"gradients", gradients},
          {"optimizer_states", states},
          {"model_states", parameters + gradients + states},
          {"sent_bytes_per_iteration", stage == "zero3" ? 4008 : 2672}};
}

Json use(int bytes) { return {{"live", bytes}, {"peak", bytes}}; }

Json good_result(const std::string& stage) {
  const Json form = closed_form(stage);
  Json result = {{"program", stage},
                 {"world_size", 3},
                 {"dtype", "fp16"},
                 {"num_parameters", 1000},
                 {"padded_parameters", 1002},
                 {"optimizer_bytes_per_parameter", 12},
                 {"iterations", Json::array()},
                 {"ranks", Json::array()},
                 {"closed_form", form},
                 {"median_seconds_per_iteration", stage == "ddp" ? 0.010 : 0.015}};
  for (int i = 0; i < 3; ++i) {
    result["iterations"].push_back({{"iteration", i},
                                    {"loss", 4.1234567890123456 - 0.1 * i},
                                    {"fingerprint", fmt::format("00000000000000a{}", i)},
                                    {"gradient_norm", 0.1 + 0.2},
                                    {"loss_scale", 65536.0},
                                    {"skipped", false},
                                    {"seconds", 0.01}});
  }
  const int temporary = stage == "zero2" ? 1200 : stage == "zero3" ? 2400 : 0;
  for (int rank = 0; rank < 3; ++rank) {
    const int total = form["model_states"].get<int>() + temporary + 5000 + 300 + 70;
    result["ranks"].push_back({{"rank", rank},
                               {"memory",
                                {{"parameters", use(form["parameters"])},
                                 {"gradients", use(form["gradients"])},
                                 {"optimizer_states", use(form["optimizer_states"])},
                                 {"activations", {{"live", 0}, {"peak", 5000}}},
                                 {"temporary", {{"live", 0}, {"peak", temporary}}},
                                 {"communication", use(300)},
                                 {"workspace", use(70)}}},
                               {"peak_total", total},
                               {"peak_step", "2. Backward: the full local gradients"},
                               {"sent_bytes_per_iteration", form["sent_bytes_per_iteration"]},
                               {"scalar_bytes_per_iteration", 96}});
  }
  return result;
}

// A folder of pretended stage programs. Each writes to --json the result prepared for it (the one
// for this --batch, or for this --collectives and number of ranks, where there is one), copies its
// prepared dump to --dump-state, and notes its arguments.
class Pretended {
 public:
  Pretended() {
    std::string name = (fs::temp_directory_path() / "compare-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()));
    folder = name;
    for (const std::string& stage : kStages) {
      result(stage, good_result(stage));
      script(stage,
             "while [ $# -gt 0 ]; do\n"
             "  case \"$1\" in\n"
             "    --json) json=$2; shift ;;\n"
             "    --batch) batch=$2; shift ;;\n"
             "    --ranks) ranks=$2; shift ;;\n"
             "    --collectives) collectives=$2; shift ;;\n"
             "    --dump-state) mkdir -p \"$2\"; cp \"$here/$name.dump/\"* \"$2\"; shift ;;\n"
             "  esac\n"
             "  shift\n"
             "done\n"
             "from=$here/$name.result\n"
             "for more in \"$batch\" \"$collectives.${PROCESSES:-$ranks}\"; do\n"
             "  if [ -f \"$from.$more\" ]; then from=$from.$more; fi\n"
             "done\n"
             "for i in 1 2 3; do echo \"iteration $i/3  loss 4.12\"; done\n"
             "cp \"$from\" \"$json\"\n");
    }
  }
  ~Pretended() { fs::remove_all(folder); }

  void script(const std::string& name, const std::string& body) const {
    write_file(folder / name, fmt::format("#!/bin/sh\nhere='{}'\nname={}\n"
                                          "printf '%s\\n' \"$*\" >> \"$here/$name.arguments\"\n{}",
                                          folder.string(), name, body));
    fs::permissions(folder / name, fs::perms::owner_all);
  }
  void result(const std::string& name, const Json& json) const {
    write_file(folder / (name + ".result"), json.dump());
  }
  std::string arguments(const std::string& stage) const {
    return read_file(folder / (stage + ".arguments"));
  }

  // Starts compare on these programs; `during` is called with its process id.
  template <class During>
  Outcome run(std::vector<std::string> arguments, const During& during) const {
    const fs::path out = folder / "out", err = folder / "err";
    arguments.insert(arguments.begin(), (built_programs() / "compare").string());
    arguments.insert(arguments.end(), {"--programs", folder.string()});
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGINT, SIG_DFL);
      for (const auto& [file, to] : {std::pair{out, 1}, std::pair{err, 2}})
        dup2(open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600), to);
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(99);
    }
    during(child);
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out),
            read_file(err)};
  }
  Outcome run(const std::vector<std::string>& arguments) const {
    return run(arguments, [](pid_t) {});
  }

  fs::path folder;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The words of the n-th line that begins with `label` (spaces in front count).
std::vector<std::string> cells(const std::string& text, const std::string& label, int n = 0) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(label + "  ") || n-- > 0) continue;
    std::istringstream words(line.substr(label.size()));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

using Words = std::vector<std::string>;

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

}  // namespace

TEST_CASE("the table sets what was measured beside the closed form, stage by stage") {
  const Pretended programs;
  const Outcome outcome = programs.run({});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(cells(outcome.out, "parameters") == Words{"2,004", "2,004", "2,004", "668"});
  CHECK(cells(outcome.out, "gradients") == Words{"2,004", "2,004", "668", "668"});
  CHECK(cells(outcome.out, "optimizer states") == Words{"12,024", "4,008", "4,008", "4,008"});
  CHECK(cells(outcome.out, "model states (sum)") == Words{"16,032", "8,016", "6,680", "5,344"});
  CHECK(cells(outcome.out, "  closed form", 3) == Words{"16,032", "8,016", "6,680", "5,344"});
  CHECK(cells(outcome.out, "  difference", 3) == Words{"0", "B", "0", "B", "0", "B", "0", "B"});
  CHECK(cells(outcome.out, "temporary") == Words{"0", "0", "1,200", "2,400"});
  CHECK(cells(outcome.out, "everything at its peak") ==
        Words{"21,402", "13,386", "13,250", "13,114"});
  CHECK(cells(outcome.out, "bytes per rank", 1) == Words{"2,672", "2,672", "2,672", "4,008"});
  CHECK(cells(outcome.out, "  relative to DDP") ==
        Words{"1.00", "x", "1.00", "x", "1.00", "x", "1.50", "x"});
  CHECK(cells(outcome.out, "  relative to DDP", 1) ==
        Words{"1.00", "x", "1.50", "x", "1.50", "x", "1.50", "x"});
  const std::string loss = fmt::format("{}", 4.1234567890123456 - 0.1 * 2);
  CHECK(cells(outcome.out, "final loss") == Words(4, loss));
  CHECK(cells(outcome.out, "fingerprint") == Words(4, "00000000000000a2"));
  CHECK(contains(outcome.out, "\nmeasured = formula: yes\nsame bits: yes\n"));
  CHECK(longest_line(outcome.out) <= 100);
}

TEST_CASE("a byte more or less on one rank only is told, and is a failure") {
  const Pretended programs;
  Json result = good_result("zero2");
  const int bytes = GENERATE(2, -2);
  SECTION("live") {
    auto& live = result["ranks"][1]["memory"]["gradients"]["live"];
    live = live.get<int>() + bytes;
    programs.result("zero2", result);
    const Outcome outcome = programs.run({});
    INFO(outcome.out);
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out, "measured = formula: no\n"));
    CHECK(contains(outcome.out, fmt::format("ZeRO-2, rank 1: gradients measured {} B, formula 668",
                                            668 + bytes)));
    CHECK(cells(outcome.out, "  difference", 1) ==
          Words{"0", "B", "0", "B", bytes > 0 ? "+2" : "-2", "B", "0", "B"});
    CHECK(contains(outcome.out, "same bits: yes\n"));
  }
  SECTION("at the peak") {
    auto& peak = result["ranks"][2]["memory"]["parameters"]["peak"];
    peak = peak.get<int>() + bytes;
    programs.result("zero2", result);
    const Outcome outcome = programs.run({});
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out, "ZeRO-2, rank 2: peak of parameters measured"));
  }
  SECTION("sent") {
    auto& sent = result["ranks"][0]["sent_bytes_per_iteration"];
    sent = sent.get<int>() + bytes;
    programs.result("zero2", result);
    const Outcome outcome = programs.run({});
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out, "ZeRO-2, rank 0: bytes sent per iteration measured"));
  }
}

TEST_CASE("a stage is not measured with its own ruler: its wrong formula is told") {
  const Pretended programs;
  Json result = good_result("zero1");
  for (Json& rank : result["ranks"]) rank["memory"]["optimizer_states"] = use(12024);
  result["closed_form"]["optimizer_states"] = 12024;
  result["closed_form"]["model_states"] = 16032;
  programs.result("zero1", result);
  const Outcome outcome = programs.run({});
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "rank 2: optimizer states measured 12,024 B, formula 4,008 B"));
  CHECK(contains(outcome.out, "ZeRO-1: its own closed_form is not the formula"));
}

TEST_CASE("bytes of a library's collectives are not measured, and that is no difference") {
  const Pretended programs;
  for (const std::string& stage : kStages) {
    Json result = good_result(stage);
    for (Json& rank : result["ranks"]) rank["sent_bytes_per_iteration"] = nullptr;
    programs.result(stage, result);
  }
  const Outcome outcome = programs.run({});
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "not measured"));
}

TEST_CASE("each value of an iteration counts: a last bit that differs is not the same bits") {
  const Pretended programs;
  Json result = good_result("zero3");
  Json& iteration = result["iterations"][1];
  const std::string what =
      GENERATE("loss", "gradient_norm", "loss_scale", "skipped", "not finite", "minus zero");
  if (what == "loss" || what == "gradient_norm") {
    iteration[what] = std::nextafter(iteration[what].get<double>(), 100.0);
  } else if (what == "loss_scale") {
    iteration[what] = 32768.0;
  } else if (what == "skipped") {
    iteration[what] = true;
  } else if (what == "not finite") {
    iteration["gradient_norm"] = nullptr;
  } else {
    Json ddp = good_result("ddp");
    for (const std::string stage : {"ddp", "zero1", "zero2"}) {
      Json other = good_result(stage);
      other["iterations"][1]["loss"] = 0.0;
      programs.result(stage, other);
    }
    iteration["loss"] = -0.0;
  }
  programs.result("zero3", result);
  const Outcome outcome = programs.run({});
  INFO(what << '\n' << outcome.out);
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "\nsame bits: no\n"));
  CHECK(contains(outcome.out, "first in iteration 2"));
  CHECK(contains(outcome.out, "both hold the same parameters and optimizer states"));
}

namespace {

// A dumped state of 1,000 parameters on 3 ranks: each array is base + position, save `changed`.
struct Change {
  std::string state;
  std::int64_t position = 0;
  float value = 0;
};

void write_dump(const fs::path& folder, bool whole, const std::vector<Change>& changes) {
  fs::create_directories(folder);
  Json index = {{"world_size", 3}, {"num_parameters", 1000}, {"dtype", "fp32"}, {"iteration", 2}};
  index["tensors"] = {{{"name", "wte"}, {"begin", 0}, {"end", 600}, {"shape", {30, 20}}},
                      {{"name", "h.0.bias"}, {"begin", 600}, {"end", 1000}, {"shape", {400}}}};
  for (int rank = 0; rank < 3; ++rank) {
    Json arrays = Json::array();
    for (const std::string state : {"parameters", "master", "exp_avg", "exp_avg_sq"}) {
      const int begin = whole ? 0 : rank * 334;
      const int end = whole ? 1002 : begin + 334;
      std::vector<float> values;
      for (int position = begin; position < end; ++position) {
        float value = position < 1000 ? 1.0f + static_cast<float>(position) : 0.0f;
        for (const Change& change : changes) {
          if (change.state == state && change.position == position) value = change.value;
        }
        values.push_back(value);
      }
      const std::string file = fmt::format("{}.{}.bin", state, rank);
      write_file(folder / file, {reinterpret_cast<const char*>(values.data()), 4 * values.size()});
      arrays.push_back(
          {{"state", state}, {"file", file}, {"dtype", "fp32"}, {"begin", begin}, {"end", end}});
    }
    index["ranks"].push_back({{"rank", rank}, {"arrays", arrays}});
  }
  write_file(folder / "index.json", index.dump());
}

}  // namespace

TEST_CASE("where the bits differ, the first iteration, tensor, element and both values are told") {
  const Pretended programs;
  Json result = good_result("zero1");
  result["iterations"][1]["fingerprint"] = "00000000000000ff";
  result["iterations"][2]["fingerprint"] = "00000000000000fe";
  programs.result("zero1", result);
  write_dump(programs.folder / "ddp.dump", true, {});
  SECTION("in two states, in a shard that is not rank 0's") {
    write_dump(programs.folder / "zero1.dump", false,
               {{"master", 437, 438.5f}, {"master", 999, -1}, {"parameters", 700, 0.25f}});
    const Outcome outcome = programs.run({"--iterations", "3", "--seed=5"});
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out,
                   "same bits: no\n  first in iteration 2: fingerprint\n"
                   "    DDP     00000000000000a1\n    ZeRO-1  00000000000000ff\n"));
    CHECK(contains(outcome.out,
                   "master: 2 elements differ, the first is wte[21, 17] (position 437)\n"
                   "    DDP     438 (bits 0x43db0000), on rank 0\n"
                   "    ZeRO-1  438.5 (bits 0x43db4000), on rank 1\n"));
    CHECK(contains(outcome.out, "parameters: 1 element differs, the first is h.0.bias[100]"));
    CHECK_FALSE(contains(outcome.out, "exp_avg"));
    // It was run again up to iteration 2 only, with everything else as before.
    CHECK(contains(programs.arguments("zero1"), "\n--seed=5 --iterations 2 --dump-state "));
    CHECK(contains(programs.arguments("ddp"), "\n--seed=5 --iterations 2 --dump-state "));
    CHECK_FALSE(contains(programs.arguments("zero2"), "--dump-state"));
  }
  SECTION("in a replica only") {
    write_dump(programs.folder / "zero1.dump", true, {});
    const fs::path replica = programs.folder / "zero1.dump" / "exp_avg.2.bin";
    std::string bytes = read_file(replica);
    bytes[4 * 7] ^= 1;
    write_file(replica, bytes);
    const Outcome outcome = programs.run({});
    CHECK(contains(outcome.out, "exp_avg: 1 element differs, the first is wte[0, 7]"));
    CHECK(contains(outcome.out, "on rank 2\n"));
  }
  SECTION("not again when it is run once more") {
    write_dump(programs.folder / "zero1.dump", false, {});
    const Outcome outcome = programs.run({});
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out, "both hold the same state"));
  }
  SECTION("and the dump is broken") {
    write_dump(programs.folder / "zero1.dump", false, {});
    fs::resize_file(programs.folder / "zero1.dump" / "master.1.bin", 100);
    const Outcome outcome = programs.run({});
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out, "master.1.bin is missing or short"));
  }
}

TEST_CASE("the earliest difference of all stages is the one that is told") {
  const Pretended programs;
  Json one = good_result("zero1"), three = good_result("zero3");
  one["iterations"][2]["loss"] = 1.0;
  three["iterations"][0]["loss"] = 2.0;
  programs.result("zero1", one);
  programs.result("zero3", three);
  const Outcome outcome = programs.run({});
  CHECK(contains(outcome.out, "first in iteration 1: loss\n"));
  CHECK(contains(outcome.out, "    ZeRO-3  2\n"));
}

TEST_CASE("stages that have not done the same work are not compared") {
  const Pretended programs;
  Json result = good_result("zero2");
  result["iterations"].erase(2);
  programs.result("zero2", result);
  const Outcome outcome = programs.run({});
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "same bits: no\n  they have not done the same work:\n"));
  CHECK(contains(outcome.out, "2 iterations\n"));
}

TEST_CASE("a stage that fails is named, with its message and the command to see it alone") {
  const Pretended programs;
  programs.script("zero2", "echo 'rank 1, step 3: expected 334, got 333' >&2; exit 1\n");
  const fs::path json = programs.folder / "result.json";
  const Outcome outcome = programs.run({"--ranks", "3", "--data", "a b.txt", "--json", json});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 1);
  CHECK(
      contains(outcome.err, "zero2 failed (exit status 1):\n  rank 1, step 3: expected 334, got"));
  CHECK(contains(outcome.err, "to see it alone: "));
  CHECK(contains(outcome.err, "/zero2 --ranks 3 --data 'a b.txt'\n"));
  CHECK(contains(outcome.out, "same bits: incomplete (ZeRO-2 failed)\n"));
  CHECK_FALSE(contains(outcome.out, "same bits: yes"));
  CHECK(cells(outcome.out, "gradients") == Words{"2,004", "2,004", "668"});
  const Json written = Json::parse(read_file(json));
  CHECK(written["same_bits"].is_null());
  CHECK(written["stages"][2]["status"] == 1);
}

TEST_CASE("a stage that is killed, or writes nothing, or not the expected result, has failed") {
  const Pretended programs;
  const auto [script, message] = GENERATE(table<std::string, std::string>(
      {{"kill -9 $$\n", "killed by signal 9"},
       {"exit 0\n", "wrote no result"},
       {"while [ $1 != --json ]; do shift; done; echo '{' > $2\n", "wrote no proper JSON"},
       {"while [ $1 != --json ]; do shift; done; echo {} > $2\n", "is not as expected"}}));
  programs.script("zero3", script);
  const Outcome outcome = programs.run({});
  INFO(script << outcome.err);
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.err, message));
  CHECK(contains(outcome.out, "same bits: incomplete (ZeRO-3 failed)\n"));
}

TEST_CASE("a command line that no stage can use gives one line and status 2, nothing written") {
  const Pretended programs;
  for (const std::string& stage : kStages)
    programs.script(stage, "echo \"$name: --batch 7: use --batch 6\" >&2; exit 2\n");
  const fs::path json = programs.folder / "result.json";
  const Outcome outcome = programs.run({"--batch", "7", "--json", json, "--quiet"});
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err == "ddp: --batch 7: use --batch 6\n");
  CHECK_FALSE(fs::exists(json));
}

TEST_CASE("a command line that compare cannot use gives one line and status 2, and runs nothing") {
  const Pretended programs;
  const auto [arguments, message] = GENERATE(table<Words, std::string>(
      {{{"--stages", "ddp,zero9"}, "no program \"zero9\""},
       {{"--stages", "ddp,ddp"}, "ddp is named twice"},
       {{"--trace", "somewhere"}, "use --traces DIR"},
       {{"--save=model.safetensors"}, "--save: every stage would write to the same place"},
       {{"--dump-state", "somewhere"}, "--dump-state: every stage"},
       {{"--json", "/nowhere/at/all.json"}, "--json /nowhere/at/all.json: cannot be written"},
       {{"--json", "/"}, "is a folder; name a file"},
       {{"--traces", "/proc/self/status"}, "is a file; name a folder"},
       {{"--width", "10"}, "must be at least 40"},
       {{"--launcher", "mpirun -x 'a"}, "a quote is not closed"}}));
  const Outcome outcome = programs.run(arguments);
  INFO(outcome.err);
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.err, message));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  CHECK(programs.arguments("ddp").empty());
}

TEST_CASE("Ctrl-C ends the stage that runs, and everything that it has started") {
  const Pretended programs;
  programs.script("zero1", "sleep 100 &\necho $! > \"$here/sleeper\"\nwait\n");
  const auto started = std::chrono::steady_clock::now();
  const fs::path sleeper = programs.folder / "sleeper";
  const auto patiently = [](const auto& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return condition();
  };
  const int which = GENERATE(SIGINT, SIGTERM);
  const Outcome outcome = programs.run({}, [&](pid_t compare) {
    patiently([&] { return !read_file(sleeper).empty(); });
    kill(compare, which);
  });
  CHECK(outcome.status == 128 + which);
  CHECK(contains(outcome.err, "compare: interrupted\n"));
  CHECK(programs.arguments("zero2").empty());
  const pid_t left = std::stoi(read_file(sleeper));
  // Gone, or only waiting for init to note it.
  CHECK(patiently([&] {
    return kill(left, 0) != 0 || contains(read_file(fmt::format("/proc/{}/stat", left)), ") Z ");
  }));
  CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(60));
}

TEST_CASE("on a narrow screen the columns follow below each other, and none is lost") {
  const Pretended programs;
  const Outcome outcome = programs.run({"--width", "50"});
  INFO(outcome.out);
  CHECK(outcome.status == 0);
  CHECK(longest_line(outcome.out) <= 50);
  CHECK(cells(outcome.out, "gradients") == Words{"2,004"});
  CHECK(cells(outcome.out, "gradients", 3) == Words{"668"});
}

TEST_CASE("a run in which no iteration was accepted says so loudly") {
  const Pretended programs;
  const int accepted = GENERATE(0, 1);
  for (const std::string& stage : kStages) {
    Json result = good_result(stage);
    for (int i = 0; i < 3 - accepted; ++i) {
      result["iterations"][i]["skipped"] = true;
      result["iterations"][i]["gradient_norm"] = nullptr;
    }
    programs.result(stage, result);
  }
  const Outcome outcome = programs.run({});
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "NO ITERATION WAS ACCEPTED") == (accepted == 0));
  CHECK(contains(outcome.out, "2 of 3 iterations were skipped") == (accepted == 1));
}

TEST_CASE("a stage that needs more than DDP at its peak is not hidden") {
  const Pretended programs;
  Json result = good_result("zero2");
  for (Json& rank : result["ranks"]) rank["peak_total"] = 22402;
  programs.result("zero2", result);
  const Outcome outcome = programs.run({});
  INFO(outcome.out);
  CHECK(contains(outcome.out, "ZeRO-2 needs 1,000 B more than DDP"));
}

TEST_CASE("other options go to every stage, and each stage gets its own folder for the trace") {
  const Pretended programs;
  const Outcome outcome =
      programs.run({"--stages", "zero3,ddp", "--ranks", "3", "--traces", "new", "--fp32-grads"});
  CHECK(outcome.status == 0);
  CHECK(programs.arguments("zero3").starts_with("--ranks 3 --fp32-grads --trace new/zero3 --json"));
  CHECK(programs.arguments("ddp").starts_with("--ranks 3 --fp32-grads --trace new/ddp --json"));
  CHECK(programs.arguments("zero1").empty());
  CHECK(contains(outcome.out, "relative to ZeRO-3"));
}

TEST_CASE("the launcher stands before each program") {
  const Pretended programs;
  programs.script("start", "shift 2\nexec \"$@\"\n");
  const std::string start = (programs.folder / "start").string();
  const Outcome outcome = programs.run({"--launcher", start + " -n '3'"});
  CHECK(outcome.status == 0);
  CHECK(programs.arguments("start").starts_with("-n 3 "));
  CHECK(contains(programs.arguments("start"), "/zero2 --json"));
  CHECK_FALSE(programs.arguments("zero2").empty());
  const Outcome missing = programs.run({"--launcher", "no-such-launcher -n 3"});
  CHECK(missing.status == 1);
  CHECK(contains(missing.err, "no-such-launcher: No such file or directory"));
}

TEST_CASE("the batch sweep shows that model states stay, and fails when they do not") {
  const Pretended programs;
  for (const int n : {1, 2, 4, 8}) {
    Json result = good_result("zero1");
    for (Json& rank : result["ranks"]) {
      rank["memory"]["activations"]["peak"] = 1000 * n;
      rank["peak_total"] = 8016 + 1000 * n;
    }
    write_file(programs.folder / fmt::format("zero1.result.{}", 3 * n), result.dump());
  }
  const Words arguments = {"--batch-sweep", "--stages", "zero1", "--ranks", "3", "--batch=999"};
  const Outcome outcome = programs.run(arguments);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(cells(outcome.out, "model states") == Words(4, "8,016"));
  CHECK(cells(outcome.out, "activations, peak") == Words{"1,000", "2,000", "4,000", "8,000"});
  CHECK(cells(outcome.out, "everything, peak") == Words{"9,016", "10,016", "12,016", "16,016"});
  CHECK(contains(outcome.out, "model states stay as the batch grows: yes\n"));
  Json moved = good_result("zero1");
  moved["ranks"][2]["memory"]["gradients"]["live"] = 2006;
  write_file(programs.folder / "zero1.result.24", moved.dump());
  const Outcome other = programs.run(arguments);
  CHECK(other.status == 1);
  CHECK(contains(other.out, "model states stay as the batch grows: no (ZeRO-1)\n"));
}

TEST_CASE("which collectives agree is found by running them, for 2, 3 and 4 ranks") {
  const Pretended programs;
  programs.script("start", "PROCESSES=$2; export PROCESSES\nshift 2\nexec \"$@\"\n");
  Json other = good_result("ddp");
  other["iterations"][1]["loss"] = 4.0;
  write_file(programs.folder / "ddp.result.direct.3", other.dump());
  write_file(programs.folder / "ddp.result.library.4", other.dump());
  const fs::path json = programs.folder / "result.json";
  const std::string start = (programs.folder / "start").string();
  const Outcome outcome =
      programs.run({"--collectives-agree", "--json", json, "--launcher", start + " -n 9"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  const Json found = Json::parse(read_file(json))["collectives_agree"];
  const auto row = [&](int i) {
    return std::vector<bool>{found[i]["ring_direct"], found[i]["ring_library"],
                             found[i]["direct_library"]};
  };
  CHECK(row(0) == std::vector<bool>{true, true, true});
  CHECK(row(1) == std::vector<bool>{false, true, false});
  CHECK(row(2) == std::vector<bool>{true, false, false});
  CHECK(contains(outcome.out, "differ from iteration 2"));
}

TEST_CASE("the result for programs holds every stage's own result and both verdicts") {
  const Pretended programs;
  const fs::path json = programs.folder / "result.json";
  CHECK(programs.run({"--json", json}).status == 0);
  const Json written = Json::parse(read_file(json));
  CHECK(written["same_bits"] == true);
  CHECK(written["measured_equals_formula"] == true);
  REQUIRE(written["stages"].size() == 4);
  CHECK(written["stages"][3]["result"] == good_result("zero3"));
}
