// Which stage do I need? Runs the stage programs on simulated GPUs and says what they would need.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>

#include "common/comm/world.h"
#include "common/train/options.h"
#include "common/train/report.h"
#include "stages/compare/say.h"
#include "stages/plan/describe.h"
#include "stages/plan/json.h"
#include "stages/plan/picture.h"
#include "stages/plan/states.h"

namespace zero {
namespace {

void write_files(const PlanOptions& options, const Page& page, const nlohmann::ordered_json& json,
                 const Picture& picture) {
  if (!options.json.empty()) write_file(options.json, json.dump(2) + '\n');
  if (!options.markdown.empty()) write_file(options.markdown, page.markdown());
  if (!options.svg.empty()) write_file(options.svg, svg(picture));
}

void run(const PlanOptions& options) {
  if (under_mpi()) throw UsageError("plan simulates the ranks itself; start it without mpirun");
  if (options.formulas_only()) {
    const Page page = describe_states(options);
    say(stdout, "{}", page.plain(options.width));
    write_files(options, page, states_json(options), picture_of_states(options));
    return;
  }
  const ProcessRunner processes;
  const Simulator simulator(options, processes);
  const Plan plan = make_plan(options, simulator);
  const Page page = describe(options, plan);
  say(stdout, "{}", page.plain(options.width));
  write_files(options, page, plan_json(options, plan), picture_of(options, plan));
}

// A pipe or a file opened later must not become standard output or error because that was closed.
void hold_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDONLY);
  }
}

int run_and_report(int argc, char** argv) {
  try {
    const ParsedPlan parsed = parse_plan_options(argc, argv);
    if (!parsed.stop) run(parsed.options);
    return 0;
  } catch (const UsageError& error) {
    say(stderr, "plan: {}\n", error.what());
    return 2;
  } catch (const Interrupted& interrupted) {
    // Nobody reads on after SIGPIPE.
    if (interrupted.signal != SIGPIPE) say(stderr, "plan: interrupted\n");
    return 128 + interrupted.signal;
  } catch (const std::exception& error) {
    say(stderr, "plan: {}\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  zero::hold_standard_streams();
  const int status = zero::run_and_report(argc, argv);
  // What was not written was not done: a full disk must not look like success.
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  zero::say(stderr, "plan: cannot write to standard output\n");
  return status == 0 ? 1 : status;
}
