// Runs one stage program after the other, with progress on standard error.
#include "stages/compare/stage_runner.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>

#include "common/train/options.h"
#include "stages/compare/say.h"

namespace zero {
namespace {

namespace fs = std::filesystem;

// "ZeRO-2: iteration 7 of 20": one line that changes on a terminal; elsewhere only the last.
class Progress {
 public:
  Progress(std::string what, int iterations, bool quiet)
      : what_(std::move(what)), iterations_(iterations), quiet_(quiet), live_(isatty(2) == 1) {
    show("starts");
  }
  ~Progress() {
    if (live_ && !quiet_) say(stderr, "\r\033[K");
  }
  // A line of the stage's own output: one per iteration.
  void line(std::string_view text) {
    if (!text.starts_with("iteration ") || seen_ == iterations_) return;
    ++seen_;
    show(fmt::format("iteration {} of {}", seen_, iterations_));
  }
  void done(double seconds, bool good) {
    if (quiet_) return;
    say(stderr, "{}{}: {} in {:.1f} s\n", live_ ? "\r\033[K" : "", what_, good ? "done" : "failed",
        seconds);
  }

 private:
  void show(const std::string& text) const {
    if (!live_ || quiet_) return;
    say(stderr, "\r\033[K{}: {}", what_, text);
    std::fflush(stderr);
  }
  std::string what_;
  int iterations_, seen_ = 0;
  bool quiet_, live_;
};

int iterations_asked(const std::vector<std::string>& arguments) {
  const auto value = option_value(arguments, "--iterations");
  return value ? std::atoi(value->c_str()) : Options{}.iterations;
}

// The shorter of the two ways to write it, seen from here.
std::string shortest(const fs::path& program) {
  std::error_code error;
  const std::string near = fs::proximate(program, error).string();
  if (error || near.size() >= program.string().size()) return program.string();
  return near.find('/') == std::string::npos ? "./" + near : near;
}

// All other words of a stage that ended well are in its result; and that nothing was learnt, the
// comparison says itself.
void pass_on_warnings(const StageRun& run) {
  std::istringstream lines(run.errors);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("warning:") && !line.starts_with("warning: no iteration was accepted"))
      say(stderr, "{}{}: {}\n", isatty(2) ? "\r\033[K" : "", run.stage, line);
  }
}

// For a stage that ended well: its result, or why there is none.
void read_result(const std::string& file, StageRun& run) {
  try {
    std::ifstream in(file);
    if (!in) throw std::runtime_error(fmt::format("{} wrote no result (--json)", run.stage));
    run.json = nlohmann::json::parse(in);
    run.result = parse_stage_result(run.stage, run.json);
  } catch (const nlohmann::json::exception& error) {
    run.errors += fmt::format("{} wrote no proper JSON: {}\n", run.stage, error.what());
  } catch (const std::runtime_error& error) {
    run.errors += fmt::format("{}\n", error.what());
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "zero-compare-XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::system_error(errno, std::generic_category(), name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

void StageRunner::tell_notices(StageRun& run) const {
  std::istringstream lines(run.errors);
  std::string others;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("device: ")) others += line + '\n';
    else if (told_.insert(line).second) say(stderr, "{}{}\n", isatty(2) ? "\r\033[K" : "", line);
  }
  run.errors = others;
}

StageRun StageRunner::run(const std::string& stage, const std::vector<std::string>& launcher,
                          const std::vector<std::string>& arguments,
                          const std::string& what) const {
  StageRun run;
  run.stage = stage;
  run.command = launcher;
  run.command.push_back(shortest(fs::path(options_.programs) / stage));
  run.command.insert(run.command.end(), arguments.begin(), arguments.end());
  std::vector<std::string> command = run.command;
  const std::string file = place(stage + ".json");
  std::error_code error;
  fs::remove(file, error);
  command.insert(command.end(), {"--json", file});

  Progress progress(what, iterations_asked(arguments), options_.quiet);
  const Finished finished =
      processes_.run(command, [&](std::string_view line) { progress.line(line); });
  run.status = finished.status;
  run.errors = finished.errors;
  tell_notices(run);
  if (run.status == 0) {
    pass_on_warnings(run);
    read_result(file, run);
  }
  // What it refuses (2) is told once, at the end.
  if (run.status != 2) progress.done(finished.seconds, run.result.has_value());
  return run;
}

std::string describe_failure(const StageRun& run) {
  std::string text = fmt::format("{} failed (exit status {}", run.stage, run.status);
  if (run.status > 128) text += fmt::format(": killed by signal {}", run.status - 128);
  text += "):\n";
  // Where several ranks have the same to say, the first one speaks.
  std::map<std::string, int> said;
  std::vector<std::string> order;
  std::istringstream lines(run.errors);
  for (std::string line; std::getline(lines, line);) {
    const bool of_rank = line.starts_with("rank ");
    const std::string what = of_rank ? line.substr(std::min(line.find(','), line.size())) : line;
    if (said[what]++ == 0) order.push_back(line);
  }
  for (const std::string& line : order) {
    text += "  " + line + '\n';
    const bool of_rank = line.starts_with("rank ");
    const int times = said[of_rank ? line.substr(std::min(line.find(','), line.size())) : line];
    if (of_rank && times > 1) {
      text += fmt::format("  (the same on {} other rank{})\n", times - 1, times == 2 ? "" : "s");
    }
  }
  if (run.errors.empty()) text += "  (it wrote nothing to standard error)\n";
  return text + "to see it alone: " + as_typed(run.command) + '\n';
}

}  // namespace zero
