// trace_export: makes one Chrome trace of a run's traces.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "common/trace/chrome.h"
#include "common/trace/reader.h"

namespace {

constexpr const char* kAbout =
    "Makes one Chrome trace of the traces that a run wrote: what every rank did, side by side.\n\n"
    "  build/stages/zero2 --trace out/zero2     a run that writes traces\n"
    "  build/stages/trace_export out/zero2      writes out/zero2/chrome.json\n\n"
    "Open the result in https://ui.perfetto.dev (\"Open trace file\"; nothing is uploaded) or in\n"
    "chrome://tracing. Each rank is a process with three tracks: steps (iterations, and the steps\n"
    "inside), operators, and communication (collectives, and their messages inside). An arrow per\n"
    "message goes from its send to its receive. Counters show the bytes of each memory category:\n"
    "compare \"memory: optimizer_states\" of ddp and zero1.\n\n"
    "Ranks have no common clock. Each is shifted by the least that lets no message arrive before\n"
    "it was sent, so order across ranks is right and distances across ranks are estimates.\n"
    "A trace that was cut off (a killed rank) is shown as far as it goes.";

int fail(const std::string& message) {
  std::fputs(fmt::format("trace_export: {}\n", message).c_str(), stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(kAbout, "trace_export");
  std::string directory;
  std::string output;
  app.add_option("DIR", directory, "the directory that --trace wrote")->required();
  app.add_option("-o,--output", output, "the file to write; default: DIR/chrome.json");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return fail(std::string(error.what()) + "; see --help");
  }
  if (output.empty()) output = directory + "/chrome.json";
  try {
    const zero::RunTrace run = zero::read_run(directory);
    for (const std::string& note : run.notes)
      std::fputs(fmt::format("note: {}\n", note).c_str(), stderr);
    std::ofstream file(output, std::ios::binary);
    if (!file) return fail(fmt::format("cannot write {}: {}", output, std::strerror(errno)));
    const zero::ChromeSummary summary = zero::write_chrome_trace(run, file);
    file.close();
    if (!file) return fail(fmt::format("cannot write {}: {}", output, std::strerror(errno)));
    std::fputs(
        fmt::format("{}: {} ranks, {} slices, {} arrows, {} counter values; open it in "
                    "https://ui.perfetto.dev\n",
                    output, run.ranks.size(), summary.slices, summary.arrows, summary.counters)
            .c_str(),
        stdout);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
  return 0;
}
