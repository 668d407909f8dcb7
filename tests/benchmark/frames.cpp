// Prints what a frame of the visualizer costs: laying it out, and drawing it without a display.
#include <fmt/format.h>
#include <imgui.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>

#include "common/memory/bytes.h"
#include "visualizer/export/headless.h"
#include "visualizer/raster/rasteriser.h"

namespace zero {
namespace {

double milliseconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

struct Times {
  std::vector<double> all;
  double at(double part) {
    std::sort(all.begin(), all.end());
    return all[static_cast<std::size_t>(part * static_cast<double>(all.size() - 1))];
  }
};

int run_program(int argc, char** argv) {
  CLI::App app{"What a frame costs, in milliseconds: median, and nine in ten stay below.",
               "frames"};
  std::vector<std::string> directories;
  int width = 1280, height = 720, moments = 40;
  app.add_option("RUN", directories, "directories with traces")->required();
  app.add_option("--width", width)->check(CLI::Range(1, 16384));
  app.add_option("--height", height)->check(CLI::Range(1, 16384));
  app.add_option("--moments", moments, "that are drawn")->check(CLI::Range(1, 10000));
  CLI11_PARSE(app, argc, argv);

  std::vector<std::shared_ptr<const replay::Run>> runs;
  for (const std::string& directory : directories) runs.push_back(replay::Run::open(directory));
  view::Session session(runs);
  Headless headless(width, height);
  fmt::print("{:>10}  {:>6} {:>9}  {:>13}  {:>13}  {:>13}\n", "view", "marks", "triangles", "seek",
             "layout", "draw");
  const std::pair<const char*, view::View> views[] = {{"stages", view::View::stages},
                                                      {"collective", view::View::collective},
                                                      {"memory", view::View::memory}};
  for (const auto& [name, view] : views) {
    session.view = view;
    Times seek, layout, drawing;
    std::size_t marks = 0;
    int triangles = 0;
    Image image = Image::of_size(width, height);
    headless.layout(session);  // what is kept from frame to frame
    for (int i = 0; i < moments; ++i) {
      const double clock = session.length() * (i + 0.5) / moments;
      seek.all.push_back(milliseconds([&] { session.seek(clock); }));
      layout.all.push_back(milliseconds([&] { headless.layout(session); }));
      drawing.all.push_back(
          milliseconds([&] { draw(*ImGui::GetDrawData(), *ImGui::GetIO().Fonts, image); }));
      marks = std::max(marks, headless.marks().size());
      triangles = std::max(triangles, ImGui::GetDrawData()->TotalIdxCount / 3);
    }
    fmt::print("{:>10}  {:>6} {:>9}", name, with_commas(static_cast<std::int64_t>(marks)),
               with_commas(triangles));
    for (Times* times : {&seek, &layout, &drawing}) {
      fmt::print("  {:>5.2f} < {:>5.2f}", times->at(0.5), times->at(0.9));
    }
    fmt::print("\n");
  }
  return 0;
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  try {
    return zero::run_program(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "frames: {}\n", error.what());
    return 1;
  }
}
