// The visualizer: replays runs in a window, or makes pictures of them without one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/memory/bytes.h"
#include "common/trace/reader.h"
#include "visualizer/export/export.h"
#include "visualizer/export/interrupts.h"
#include "visualizer/export/moments.h"
#include "visualizer/replay/read.h"
#include "visualizer/replay/say.h"
#include "visualizer/view/session.h"
#include "visualizer/window/window.h"

namespace zero {
namespace {

constexpr const char* kAbout =
    "Replays runs of the stage programs, event by event: what each GPU holds, which part of it is "
    "whose,\nwhat is sent to whom, and what it all takes in memory.";

constexpr const char* kExamples = R"(
A RUN is the directory that a stage program wrote. Several are shown side by side, on one clock.

  zero2 --ranks 4 --iterations 2 --trace out/zero2      makes a run
  visualizer out/zero2                                  opens the window; ? there lists its keys
  visualizer out/ddp out/zero1 out/zero2 out/zero3      four runs side by side
  visualizer out/zero2 --follow                         while it is running

Pictures need no display; what is not named is chosen to show most:

  visualizer out/zero2 --export zero2.png
  visualizer out/zero2 --export step3.png --at 2:3 --size 1920x1080 --theme dark
  visualizer out/zero2 --export ring.png --at "2:3:block 1@50%" --view collective --ring
  visualizer out/zero2 --export step3.gif --at "2:3:block 1" --view collective
  visualizer out/zero2 --export iteration.mp4 --from 2:1 --to 2:6 --speed 4
)";

template <class T>
using Names = std::map<std::string, T>;

const Names<view::View> kViews = {{"stages", view::View::stages},
                                  {"collective", view::View::collective},
                                  {"memory", view::View::memory}};
const Names<view::Colouring> kColours = {{"category", view::Colouring::category},
                                         {"storage", view::Colouring::storage},
                                         {"compute", view::Colouring::compute},
                                         {"values", view::Colouring::values}};
const Names<view::Content> kContents = {{"window", view::Content::window},
                                        {"picture", view::Content::picture},
                                        {"plain", view::Content::plain},
                                        {"strip", view::Content::strip}};

struct Arguments {
  WindowOptions window;
  ExportOptions exported;
  std::string view = "stages", colours = "category", content = "picture";
  std::string theme = "light", order = "logical", size = "1280x720";
  bool ring = false;
};

// A number in [low, high]; "nan" is none.
CLI::Validator between(double low, double high) {
  const auto check = [low, high](const std::string& text) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const bool fits = end != text.c_str() && *end == 0 && number >= low && number <= high;
    return fits ? std::string()
                : fmt::format("'{}': expected a number from {} to {}", text, low, high);
  };
  return CLI::Validator(check, "");
}

// "1280x720"
void parse_size(const std::string& text, int& width, int& height) {
  char rest = 0;
  const bool two =
      text.size() < 16 && std::sscanf(text.c_str(), "%dx%d%c", &width, &height, &rest) == 2;
  if (!two || width < 1 || height < 1 || width > 16384 || height > 16384) {
    throw CLI::ValidationError(
        "--size",
        fmt::format("'{}': expected WIDTHxHEIGHT, each from 1 to 16384, like 1280x720", text));
  }
  constexpr int kMost = 64 << 20;
  if (width * height > kMost) {
    throw CLI::ValidationError(
        "--size", fmt::format("'{}': expected at most {} pixels in all", text, with_commas(kMost)));
  }
}

void check(const Arguments& arguments, const CLI::App& app) {
  const ExportOptions& exported = arguments.exported;
  const bool film = exported.path.ends_with(".gif") || exported.path.ends_with(".mp4");
  const auto given = [&](const char* option) { return app.count(option) > 0; };
  if (given("--export") && exported.path.empty()) {
    throw CLI::ValidationError("--export", "expected the name of a file");
  }
  if (!exported.path.empty() && !film && !exported.path.ends_with(".png")) {
    throw CLI::ValidationError("--export", fmt::format("'{}': the name must end in .png, .gif or "
                                                       ".mp4",
                                                       exported.path));
  }
  if (exported.path.empty()) {
    for (const char* option : {"--at", "--from", "--to", "--fps", "--speed", "--content", "--scale",
                               "--ring", "--colours"}) {
      if (given(option)) throw CLI::ValidationError(option, "goes with --export FILE");
    }
    return;
  }
  if (given("--follow")) throw CLI::ValidationError("--follow", "is for the window, not --export");
  for (const char* option : {"--from", "--to", "--fps", "--speed"}) {
    if (given(option) && !film) {
      throw CLI::ValidationError(option, "is for films: --export FILE.gif or FILE.mp4");
    }
  }
  if (given("--at") && (given("--from") || given("--to"))) {
    throw CLI::ValidationError("--at", "not together with --from or --to");
  }
  if (arguments.content == "strip" && film) {
    throw CLI::ValidationError("--content", "a strip is one picture: --export FILE.png");
  }
  if (arguments.content == "strip" && arguments.view == "memory") {
    throw CLI::ValidationError("--content", "a strip shows a collective, not the memory");
  }
  if (exported.path.ends_with(".gif") && exported.frames_per_second > 50) {
    throw CLI::ValidationError("--fps", "a GIF has at most 50");
  }
}

// The first header that can be read there; nothing where there is none.
std::optional<event::Header> header_of(const std::string& directory) {
  for (int r = 0; r < replay::LogReader::kMostRanks; ++r) {
    const std::string path = fmt::format("{}/rank{}.jsonl", directory, r);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) continue;
    try {
      return TraceReader(path).header();
    } catch (const TraceError&) {
      // told when the run is opened
    }
  }
  return std::nullopt;
}

// Why a rank cannot be shown: empty if one of the runs has a trace of it, or may yet have one.
std::string wrong_rank(int rank, const std::vector<event::Header>& runs) {
  int world_size = 0;
  std::set<int> traced;
  for (const event::Header& header : runs) {
    world_size = std::max(world_size, header.world_size);
    if (rank < header.world_size && header.is_traced(rank)) return "";
    traced.insert(header.traced.begin(), header.traced.end());
  }
  if (runs.empty()) return "";
  const std::string begin = fmt::format("visualizer: --rank {}: ", rank);
  if (rank >= world_size) return begin + fmt::format("there are ranks 0 to {}\n", world_size - 1);
  return begin + fmt::format("it is not traced; of {} ranks these are: {}\n",
                             with_commas(world_size), fmt::join(traced, ", "));
}

int show_pictures(const Arguments& arguments) {
  std::vector<std::shared_ptr<const replay::Run>> runs;
  std::vector<event::Header> headers;
  for (const std::string& directory : arguments.window.directories) {
    runs.push_back(replay::Run::open(directory, arguments.window.order));
    headers.push_back(runs.back()->header());
    for (const std::string& note : runs.back()->first_notes()) {
      say(fmt::format("visualizer: {}\n", note));
    }
  }
  view::Session session(runs);
  const int rank = arguments.window.rank.value_or(session.ranks().front());
  if (const std::string wrong = wrong_rank(rank, headers); !wrong.empty()) {
    say(wrong);
    return 2;
  }
  session.view = kViews.at(arguments.view);
  session.colouring = kColours.at(arguments.colours);
  session.ring = arguments.ring;
  session.rank = rank;
  try {
    export_session(session, arguments.exported);
  } catch (const NoSuchMoment& error) {
    say(fmt::format("visualizer: {}\n", error.what()));
    return 2;
  }
  return 0;
}

int show_in_window(const WindowOptions& options) {
  // Names that are no run's are told before a display is asked for; with one run there is a window.
  std::vector<std::string> wrong;
  for (const std::string& directory : options.directories) {
    try {
      if (!options.follow) replay::check_directory(directory);
    } catch (const TraceError& error) {
      wrong.push_back(error.what());
    }
  }
  if (options.rank) {
    std::vector<event::Header> headers;
    for (const std::string& directory : options.directories) {
      if (auto header = header_of(directory)) headers.push_back(std::move(*header));
    }
    if (const std::string text = wrong_rank(*options.rank, headers); !text.empty()) {
      say(text);
      return 2;
    }
  }
  if (wrong.size() < options.directories.size()) return show_window(options);
  for (const std::string& message : wrong) say(fmt::format("visualizer: {}\n", message));
  return 1;
}

int run_program(int argc, char** argv) {
  Arguments arguments;
  WindowOptions& window = arguments.window;
  ExportOptions& exported = arguments.exported;
  CLI::App app{kAbout, "visualizer"};
  app.footer(std::string(kExamples) + "\n" + kMomentsHelp + "\n\n" + kExitStatus);
  app.get_formatter()->column_width(34);
  app.add_option("RUN", window.directories, "directories with traces")->required();
  app.add_option("--view", arguments.view, "what has the main area: stages, collective or memory")
      ->check(CLI::IsMember(kViews))
      ->option_text("VIEW");
  app.add_option("--rank", window.rank, "the rank whose memory is shown")
      ->check(between(0, replay::LogReader::kMostRanks - 1))
      ->option_text("R");
  app.add_option("--theme", arguments.theme, "light (for slides and paper) or dark")
      ->check(CLI::IsMember({"light", "dark"}))
      ->option_text("THEME");
  app.add_option("--order", arguments.order,
                 "logical (each event gets its due) or measured (as it took place)")
      ->check(CLI::IsMember({"logical", "measured"}))
      ->option_text("ORDER");
  app.add_option("--size", arguments.size, "of the window or the picture; 1280x720 if not given")
      ->option_text("WxH");
  app.add_flag("--follow", window.follow, "show a run while it is running");

  const char* pictures = "Pictures";
  app.add_option("--export", exported.path, "write this picture or film: .png, .gif or .mp4")
      ->option_text("FILE")
      ->group(pictures);
  app.add_option("--at", exported.at, "the moment; for a film, the step")
      ->option_text("MOMENT")
      ->group(pictures);
  app.add_option("--from", exported.from, "where a film begins")
      ->option_text("MOMENT")
      ->group(pictures);
  app.add_option("--to", exported.to, "where it ends")->option_text("MOMENT")->group(pictures);
  app.add_option("--content", arguments.content,
                 "picture (view, caption, bytes), plain (without the bytes), strip\n"
                 "(a collective, step by step), or window (with its controls)")
      ->check(CLI::IsMember(kContents))
      ->option_text("CONTENT")
      ->group(pictures);
  app.add_option("--colours", arguments.colours,
                 "category, storage (who keeps it), compute (who runs it) or values")
      ->check(CLI::IsMember(kColours))
      ->option_text("BY")
      ->group(pictures);
  app.add_flag("--ring", arguments.ring, "a collective's ranks on a ring, not in a row")
      ->group(pictures);
  app.add_option("--scale", exported.scale, "how large everything is drawn: 2 for a fine screen")
      ->check(between(0.5, 8))
      ->option_text("X")
      ->group(pictures);
  app.add_option("--fps", exported.frames_per_second, "frames a second: 20 for .gif, 30 for .mp4")
      ->check(between(1, 120))
      ->option_text("N")
      ->group(pictures);
  app.add_option("--speed", exported.speed, "of a film: 2 is twice as fast")
      ->check(between(0.05, 100))
      ->option_text("X")
      ->group(pictures);
  try {
    app.parse(argc, argv);
    parse_size(arguments.size, exported.width, exported.height);
    check(arguments, app);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    say(fmt::format("visualizer: {} (--help explains)\n", error.what()));
    return 2;
  }
  window.dark = exported.dark = arguments.theme == "dark";
  window.order = arguments.order == "measured" ? replay::Order::measured : replay::Order::logical;
  window.view = kViews.at(arguments.view);
  window.width = exported.width;
  window.height = exported.height;
  exported.content = kContents.at(arguments.content);
  return exported.path.empty() ? show_in_window(window) : show_pictures(arguments);
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  zero::hold_standard_streams();
  int status = 1;
  try {
    status = zero::run_program(argc, argv);
  } catch (const zero::Interrupted& interrupted) {
    zero::end_by(interrupted.signal);
  } catch (const std::exception& error) {
    zero::say(fmt::format("visualizer: {}\n", error.what()));
  }
  return zero::finish_output("visualizer", status);
}
