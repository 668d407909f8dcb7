// compare's command line: its own options are read here, everything else is for the stages.
#include "stages/compare/options.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "common/train/options.h"
#include "stages/compare/table.h"

namespace zero {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAbout =
    "Runs DDP, ZeRO-1, ZeRO-2 and ZeRO-3 on the same work, one after the other, and sets side by\n"
    "side the bytes that each rank holds and sends: as measured, and as the formula says. Then "
    "the\n"
    "verdict: did they compute the same bits? If not: in which iteration, tensor and element?\n"
    "All options that are not listed here are passed on to each stage (see ddp --help).";

constexpr const char* kExamples =
    "Examples:\n"
    "  compare                                        four stages on four ranks, fp16\n"
    "  compare --ranks 3 --dtype bf16 --iterations 5  passed on to each stage\n"
    "  compare --stages ddp,zero2 --fp32-grads        two of them; the lecture's 20 bytes\n"
    "  compare --device cuda                          on GPUs\n"
    "  compare --launcher \"mpirun -n 3\"               ranks as processes\n"
    "  compare --memory-budget 15MiB                  which stage fits?\n"
    "  compare --collectives-agree --dtype fp32       ring, direct, library: the same bits?\n"
    "  compare --batch-sweep                          what grows with the batch, what does not\n"
    "  compare --traces out                           then replay out/ddp, out/zero1, ...\n"
    "Exit status: 0: the same bits, and every byte as the formula says; 1: not so, or a stage\n"
    "failed; 2: a command line that cannot be used.";

// Where the running program's file lies; the stages stand beside it.
std::string own_folder(const char* program) {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) self = fs::absolute(program ? program : "compare", error);
  return self.parent_path().string();
}

// Words between spaces; quotes keep a word together.
std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
      in_word = true;
    } else if (quote == 0 && c == ' ') {
      if (in_word) words.push_back(word);
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) throw UsageError(fmt::format("--launcher {}: a quote is not closed", text));
  if (in_word) words.push_back(word);
  return words;
}

int screen_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::min<int>(size.ws_col, 100);
  return 100;
}

// The nearest folder that exists must allow writing; nothing is made yet.
void check_writable(const std::string& option, const std::string& path, bool directory) {
  if (path.empty()) return;
  std::error_code error;
  const bool exists = fs::exists(path, error);
  if (exists && fs::is_directory(path, error) != directory) {
    throw UsageError(fmt::format("{} {}: is a {}; name a {}", option, path,
                                 directory ? "file" : "folder", directory ? "folder" : "file"));
  }
  fs::path place = exists ? fs::path(path) : fs::absolute(path, error).parent_path();
  if (directory) {
    while (!fs::exists(place, error) && place.has_relative_path()) place = place.parent_path();
  }
  const bool usable = exists || fs::is_directory(place, error);
  if (!usable || access(place.c_str(), W_OK) != 0) {
    throw UsageError(
        fmt::format("{} {}: cannot be written there; choose another place", option, path));
  }
}

void check(CompareOptions& o) {
  for (const std::string& stage : o.stages) {
    const fs::path program = fs::path(o.programs) / stage;
    if (stage.empty() || stage.find('/') != std::string::npos ||
        access(program.c_str(), X_OK) != 0 || fs::is_directory(program)) {
      throw UsageError(fmt::format(
          "--stages: there is no program \"{}\" in {}; choose from ddp,zero1,zero2,zero3", stage,
          o.programs));
    }
    if (std::count(o.stages.begin(), o.stages.end(), stage) > 1)
      throw UsageError(fmt::format("--stages: {} is named twice", stage));
  }
  for (const char* option : {"--trace", "--save", "--save-initial", "--dump-state"}) {
    const bool given = std::any_of(o.passed_on.begin(), o.passed_on.end(), [&](const auto& word) {
      return word == option || word.starts_with(std::string(option) + "=");
    });
    if (!given) continue;
    throw UsageError(std::string(option) == "--trace"
                         ? "--trace: each stage needs a folder of its own; use --traces DIR"
                         : fmt::format("{}: every stage would write to the same place; give it to "
                                       "one stage, as {} {} ...",
                                       option, o.stages.front(), option));
  }
  const auto simulated = [&](std::size_t i) {
    return o.passed_on[i] == "--device=simulated" ||
           (i > 0 && o.passed_on[i] == "simulated" && o.passed_on[i - 1] == "--device");
  };
  for (std::size_t i = 0; i < o.passed_on.size(); ++i) {
    if (!simulated(i)) continue;
    if (o.collectives_agree) {
      throw UsageError(
          "--collectives-agree: a simulation has no bits to compare; use another --device");
    }
    if (!o.launcher.empty()) {
      throw UsageError(
          "--launcher: one process simulates all ranks; leave it out with --device simulated");
    }
  }
  if (o.collectives_agree && o.batch_sweep)
    throw UsageError("--collectives-agree and --batch-sweep: one at a time");
  if ((o.collectives_agree || o.batch_sweep) && !o.traces.empty())
    throw UsageError("--traces: goes with the comparison of stages; leave it out here");
  check_writable("--json", o.json, false);
  check_writable("--traces", o.traces, true);
  if (o.width < 40) throw UsageError(fmt::format("--width {}: must be at least 40", o.width));
}

// The word after -n, -np, -c or --ntasks in the launcher; -1 when there is none.
int position_of_ranks(const std::vector<std::string>& launcher) {
  for (std::size_t i = 0; i + 1 < launcher.size(); ++i) {
    for (const char* name : {"-n", "-np", "--np", "-c", "--ntasks"}) {
      if (launcher[i] == name) return static_cast<int>(i) + 1;
    }
  }
  return -1;
}

std::optional<int> parse_int(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

ParsedCompare parse_compare_options(int argc, const char* const* argv) {
  ParsedCompare parsed;
  CompareOptions& o = parsed.options;
  o.programs = own_folder(argc > 0 ? argv[0] : nullptr);
  o.width = screen_width();
  std::string launcher;

  CLI::App app(kAbout, "compare");
  app.footer(kExamples);
  app.get_formatter()->column_width(30);
  app.allow_extras();
  app.add_option("--stages", o.stages, "which, in this order; default ddp,zero1,zero2,zero3")
      ->delimiter(',');
  app.add_option("--launcher", launcher,
                 "put before each stage: \"mpirun -n 4\"; without it --ranks are threads");
  app.add_flag("--collectives-agree", o.collectives_agree,
               "instead: which of ring, direct, library give the same bits on 2 to 4 ranks");
  app.add_flag("--batch-sweep", o.batch_sweep, "instead: each stage's memory as the batch grows");
  app.add_option("--traces", o.traces, "folder for the traces, one folder per stage");
  app.add_option("--json", o.json, "file for the comparison and all that the stages measured");
  app.add_option("--programs", o.programs, "folder of the stage programs; default: beside compare");
  app.add_option("--width", o.width, "characters in a line; default: the screen's, at most 100");
  app.add_flag("--quiet", o.quiet, "no progress");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    app.exit(success);
    parsed.stop = true;
    return parsed;
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}; see compare --help", error.what()));
  }
  o.passed_on = app.remaining();
  if (o.quiet) o.passed_on.push_back("--quiet");
  o.launcher = split_words(launcher);
  check(o);
  return parsed;
}

std::vector<std::string> with_option(const std::vector<std::string>& arguments,
                                     const std::string& name, const std::string& value) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == name) {
      ++i;  // and its value
    } else if (!arguments[i].starts_with(name + "=")) {
      result.push_back(arguments[i]);
    }
  }
  result.push_back(name);
  result.push_back(value);
  return result;
}

std::optional<std::string> option_value(const std::vector<std::string>& arguments,
                                        const std::string& name) {
  std::optional<std::string> value;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == name && i + 1 < arguments.size()) value = arguments[i + 1];
    if (arguments[i].starts_with(name + "=")) value = arguments[i].substr(name.size() + 1);
  }
  return value;
}

std::optional<int> ranks_asked(const CompareOptions& options) {
  if (!options.launcher.empty()) {
    const int at = position_of_ranks(options.launcher);
    return at < 0 ? std::nullopt : parse_int(options.launcher[static_cast<std::size_t>(at)]);
  }
  const auto ranks = option_value(options.passed_on, "--ranks");
  return ranks ? parse_int(*ranks) : Options{}.ranks;
}

std::optional<std::vector<std::string>> launcher_with_ranks(const CompareOptions& options, int K) {
  std::vector<std::string> launcher = options.launcher;
  if (launcher.empty()) return launcher;
  const int at = position_of_ranks(launcher);
  if (at < 0) return std::nullopt;
  launcher[static_cast<std::size_t>(at)] = std::to_string(K);
  return launcher;
}

}  // namespace zero
