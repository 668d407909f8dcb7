// Small stage programs that say what a test of compare wants them to say.
#pragma once

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

namespace fs = std::filesystem;
using Json = nlohmann::json;

inline const std::vector<std::string> kStages = {"ddp", "zero1", "zero2", "zero3"};

inline std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline fs::path built_programs() {
  return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "stages";
}

struct Outcome {
  int status = 0;
  std::string out, err;
};

// 1,000 parameters on 3 ranks, padded to 1,002, so shards of 334; fp16, 12 bytes of states.
// Written out rather than computed: they are what the formulas must give.
inline Json closed_form(const std::string& stage) {
  const int parameters = stage == "zero3" ? 668 : 2004;
  const int gradients = stage == "ddp" || stage == "zero1" ? 2004 : 668;
  const int states = stage == "ddp" ? 12024 : 4008;
  return {{"parameters", parameters},
          {"gradients", gradients},
          {"optimizer_states", states},
          {"model_states", parameters + gradients + states},
          {"sent_bytes_per_iteration", stage == "zero3" ? 4008 : 2672}};
}

inline Json use(int bytes) { return {{"live", bytes}, {"peak", bytes}}; }

inline Json good_result(const std::string& stage) {
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
    fs::create_directory(folder / "temporary");
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
    arguments.insert(arguments.end(), {"--programs", folder.string()});
    return start(arguments, during);
  }
  Outcome run(const std::vector<std::string>& arguments) const {
    return run(arguments, [](pid_t) {});
  }
  // Starts compare on the programs that `arguments` say.
  Outcome run_real(const std::vector<std::string>& arguments) const {
    return start(arguments, [](pid_t) {});
  }
  // Runs `line` in a shell in this folder; "$@" is compare on these programs, with `arguments`.
  Outcome run_in_shell(const std::string& line, std::vector<std::string> arguments = {}) const {
    arguments.insert(arguments.end(), {"--programs", folder.string()});
    arguments.insert(arguments.begin(), (built_programs() / "compare").string());
    arguments.insert(arguments.begin(),
                     {"/bin/sh", "-c", fmt::format("cd '{}'\n{}", folder.string(), line), "sh"});
    return execute(arguments, [](pid_t) {});
  }

  fs::path folder;

 private:
  template <class During>
  Outcome start(std::vector<std::string> arguments, const During& during) const {
    arguments.insert(arguments.begin(), (built_programs() / "compare").string());
    return execute(arguments, during);
  }
  // However it ends, nothing stays in the folder for temporary files.
  template <class During>
  Outcome execute(std::vector<std::string> arguments, const During& during) const {
    const fs::path out = folder / "out", err = folder / "err", temporary = folder / "temporary";
    const pid_t child = fork();
    if (child == 0) {
      for (const int ending : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(ending, SIG_DFL);
      setenv("TMPDIR", temporary.c_str(), 1);
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
    CHECK(fs::is_empty(temporary));
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out),
            read_file(err)};
  }
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The words of the n-th line that begins with `label` (spaces in front count).
inline std::vector<std::string> cells(const std::string& text, const std::string& label,
                                      int n = 0) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(label + "  ") || n-- > 0) continue;
    std::istringstream words(line.substr(label.size()));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

using Words = std::vector<std::string>;

inline std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}
