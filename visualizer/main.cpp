// The visualizer: replays runs in a window, or draws pictures of them without one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "visualizer/export/headless.h"
#include "visualizer/export/png.h"
#include "visualizer/view/session.h"

namespace zero {
namespace {

int run_program(int argc, char** argv) {
  CLI::App app{"Replays the traces of runs, and draws pictures of them.", "visualizer"};
  std::vector<std::string> directories;
  std::string picture, at = "end", size = "1280x720", theme = "light", view = "stages";
  std::string content = "picture";
  int rank = 0;
  float scale = 1;
  app.add_option("RUN", directories)->required();
  app.add_option("--export", picture)->required();
  app.add_option("--at", at);
  app.add_option("--size", size);
  app.add_option("--scale", scale);
  app.add_option("--rank", rank);
  app.add_option("--theme", theme)->check(CLI::IsMember({"light", "dark"}));
  app.add_option("--view", view)->check(CLI::IsMember({"stages", "collective", "memory"}));
  app.add_option("--content", content)
      ->check(CLI::IsMember({"window", "picture", "plain", "strip"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::vector<std::shared_ptr<const replay::Run>> runs;
  for (const std::string& directory : directories) runs.push_back(replay::Run::open(directory));
  view::Session session(runs);
  session.rank = rank;
  session.view = view == "stages"       ? view::View::stages
                 : view == "collective" ? view::View::collective
                                        : view::View::memory;
  int width = 0, height = 0;
  if (std::sscanf(size.c_str(), "%dx%d", &width, &height) != 2) return 2;
  if (at == "end") {
    session.seek(session.length());
  } else if (at[0] == 'e') {
    session.seek_position(0, std::stoul(at.substr(1)));
  } else {
    session.seek_position(0, runs[0]->chapters().at(std::stoul(at) - 1).end);
  }
  Headless headless(width, height, theme == "dark" ? view::Theme::dark_() : view::Theme::light(),
                    scale);
  const view::Content what = content == "window"    ? view::Content::window
                             : content == "picture" ? view::Content::picture
                             : content == "plain"   ? view::Content::plain
                                                    : view::Content::strip;
  write_png(headless.frame(session, what), picture);
  return 0;
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  try {
    return zero::run_program(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "visualizer: {}\n", error.what());
    return 1;
  }
}
