// Pictures and films of runs: moments by name, files that are whole or not there, exit statuses.
#include <fmt/format.h>
#include <stb_image.h>

#include <filesystem>

#include "catch.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/stage.h"
#include "visualizer/export/export.h"
#include "visualizer/export/files.h"
#include "visualizer/export/headless.h"
#include "visualizer/export/moments.h"
#include "visualizer/export/png.h"

using namespace zero;

namespace {

// Traces of a stage, made once for this program.
std::string traces_of(const std::string& stage, int ranks) {
  static const TemporaryFolder folder;
  const std::string directory = folder / fmt::format("{}-{}", stage, ranks);
  if (!std::filesystem::exists(directory)) {
    Work work;
    work.ranks = ranks;
    work.iterations = 2;
    work.more = {"--trace", directory};
    run_stage(stage, work);
  }
  return directory;
}

view::Session session_of(const std::vector<std::string>& stages, int ranks = 3) {
  std::vector<std::shared_ptr<const replay::Run>> runs;
  for (const std::string& stage : stages) {
    runs.push_back(replay::Run::open(traces_of(stage, ranks)));
  }
  return view::Session(runs);
}

std::string why_not(const view::Session& session, const std::string& name) {
  try {
    stretch_of(session, name);
  } catch (const NoSuchMoment& error) {
    return error.what();
  }
  return "";
}

std::string program() {
  const std::filesystem::path stages = std::filesystem::path(stage_path("ddp")).parent_path();
  return stages.parent_path() / "visualizer" / "visualizer";
}

Finished visualizer(std::vector<std::string> arguments, const RunOptions& options = {}) {
  arguments.insert(arguments.begin(), program());
  return run(arguments, options);
}

const std::vector<std::string> kSmall = {"--size", "320x200", "--scale", "0.5"};

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("a number names the end of the step that the replay lists under it") {
  for (const std::string& stage : kStages) {
    view::Session session = session_of({stage});
    const auto& chapters = session.run(0).chapters();
    for (std::size_t n = 0; n < chapters.size(); ++n) {
      const Stretch stretch = stretch_of(session, fmt::format("{}", n + 1));
      session.seek(stretch.begin);
      CHECK(session.world(0).position == chapters[n].begin);
      session.seek(stretch.end);
      const bool last = n + 1 == chapters.size();
      CHECK(session.world(0).position == chapters[n].end - (last ? 0 : 1));
      CHECK(session.run(0).chapter_at(session.world(0).position) == n);
    }
  }
}

TEST_CASE("an iteration and a step name all of that step, with a unit that unit's part") {
  for (const std::string& stage : kStages) {
    view::Session session = session_of({stage});
    std::size_t found = 0;
    for (const replay::Chapter& chapter : session.run(0).chapters()) {
      if (chapter.number == 0) continue;  // comes before the other steps, and after them
      const std::string step = fmt::format("{}:{}", chapter.iteration + 1, chapter.number);
      const std::string name = chapter.unit.empty() ? step : step + ":" + chapter.unit;
      const Stretch stretch = stretch_of(session, name), whole = stretch_of(session, step);
      CAPTURE(name);
      CHECK(whole.begin <= stretch.begin);
      CHECK(whole.end >= stretch.end);
      for (const double part : {0.25, 0.75}) {
        session.seek(stretch.begin + part * (stretch.end - stretch.begin));
        const std::size_t position = session.world(0).position;
        CHECK(position + 3 >= chapter.begin);  // the other two ranks may have begun it before
        CHECK(position <= chapter.end);
      }
      session.seek(stretch.end);
      const int at = session.chapter();
      REQUIRE(at >= 0);
      CHECK(session.run(0).chapters()[static_cast<std::size_t>(at)].caption == chapter.caption);
      CHECK(session.run(0).chapters()[static_cast<std::size_t>(at)].unit == chapter.unit);
      ++found;
    }
    CHECK(found > 8);
  }
}

TEST_CASE("in measured time a step's end is where the last rank has ended it") {
  for (const std::string& stage : kStages) {
    view::Session session = session_of({stage}, 5);
    session.reorder(replay::Order::measured);
    const auto& chapters = session.run(0).chapters();
    for (std::size_t n = 0; n + 1 < chapters.size(); ++n) {
      session.seek(stretch_of(session, fmt::format("{}", n + 1)).end);
      CHECK(session.world(0).position == chapters[n + 1].all_in - 1);
      const replay::Chapter& chapter = chapters[n];
      if (chapter.number == 0) continue;
      std::string name = fmt::format("{}:{}", chapter.iteration + 1, chapter.number);
      if (!chapter.unit.empty()) name += ":" + chapter.unit;
      CAPTURE(stage, name);
      session.seek(stretch_of(session, name).end);
      CHECK(session.world(0).position == chapters[n + 1].all_in - 1);
      CHECK(session.chapter() == static_cast<int>(n));
    }
  }
}

TEST_CASE("events, parts, the start and the end name moments") {
  view::Session session = session_of({"zero2"});
  session.seek(stretch_of(session, "e1000").end);
  CHECK(session.world(0).position == 1000);
  CHECK(stretch_of(session, "start").end == 0);
  CHECK(stretch_of(session, "end").begin == session.length());
  const Stretch step = stretch_of(session, "2:1"), part = stretch_of(session, "2:1@25%");
  CHECK(part.begin == part.end);
  CHECK(part.end == Approx(step.begin + (step.end - step.begin) / 4));
  CHECK(stretch_of(session, "2:1@0%").end == step.begin);
  CHECK(stretch_of(session, "2:1@100%").end == step.end);
}

TEST_CASE("a name that names nothing is told what there is") {
  const view::Session session = session_of({"zero2"});
  const std::size_t steps = session.run(0).chapters().size();
  const auto with = [](const std::string& text) { return Catch::Contains(text); };
  CHECK_THAT(why_not(session, "999"), with(fmt::format("zero2 has steps 1 to {}", steps)));
  CHECK_THAT(why_not(session, "0"), with("has steps 1 to"));
  CHECK(why_not(session, "7:3") == "7:3: there is no iteration 7; there are 0, 1, 2");
  CHECK(why_not(session, "2:9") == "2:9: iteration 2 has no step 9; it has 0, 1, 2, 3, 4, 5, 6");
  CHECK_THAT(why_not(session, "2:3:tail"),
             with("no unit 'tail' there; there are 'head', 'block 1', 'block 0', 'embedding'"));
  CHECK(why_not(session, "2:4:head") == "2:4:head: that step is about no single unit");
  CHECK_THAT(why_not(session, "e123456789"), with("zero2 has "));
  for (const char* name : {"", "x", "1:", ":1", "e", "e-1", "-3", "2:3@", "2:3@50", "2:3@101%",
                           "99999999999999999999", "1:2:3:4", "1.5", " 1", "2:3@-1%"}) {
    CAPTURE(name);
    CHECK_FALSE(why_not(session, name).empty());
  }
}

TEST_CASE(
    "what is shown by default is what each rank keeps when the gradients have been added up") {
  view::Session session = session_of({"ddp", "zero1", "zero2", "zero3"});
  session.seek(telling_of(session).after);
  for (int r = 0; r < session.size(); ++r) {
    const auto chapter = static_cast<std::size_t>(session.chapter(r));
    CHECK(session.run(r).chapters()[chapter].iteration == 1);
    CHECK(session.run(r).chapters()[chapter].number == 3);
    for (int rank = 0; rank < 3; ++rank) {
      const auto& state = session.world(r).ranks[static_cast<std::size_t>(rank)];
      const auto gradients = state.memory[static_cast<std::size_t>(Memory::gradients)].live;
      const auto states = state.memory[static_cast<std::size_t>(Memory::optimizer_states)].live;
      const Expected expected(kStages[static_cast<std::size_t>(r)], [] {
        Work work;
        work.iterations = 2;
        return work;
      }());
      CHECK(gradients == expected.gradients);
      CHECK(states == expected.optimizer_states);
    }
  }
}

TEST_CASE("one rank adds up nothing, and is shown whole") {
  const view::Session session = session_of({"zero3"}, 1);
  const Telling telling = telling_of(session);
  CHECK(telling.collective.begin == 0);
  CHECK(telling.collective.end == session.length());
}

TEST_CASE("a PNG's pixels are the picture's") {
  view::Session session = session_of({"zero2"});
  session.seek(telling_of(session).after);
  Headless headless(333, 217);
  const Image image = headless.frame(session);
  const std::string bytes = png_of(image);
  int width = 0, height = 0, channels = 0;
  stbi_uc* pixels =
      stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(bytes.data()),
                            static_cast<int>(bytes.size()), &width, &height, &channels, 4);
  REQUIRE(pixels != nullptr);
  CHECK(width == 333);
  CHECK(height == 217);
  CHECK(channels == 3);
  CHECK(std::equal(image.rgba.begin(), image.rgba.end(), pixels));
  stbi_image_free(pixels);
}

TEST_CASE("frames without a display are the same each time, and tell what they are made of") {
  view::Session session = session_of({"zero2"});
  session.seek(telling_of(session).after);
  Headless one(800, 600), other(800, 600);
  const Image image = one.frame(session);
  CHECK(image == other.frame(session));
  CHECK(image == one.frame(session));
  CHECK_FALSE(one.marks().empty());
  CHECK_FALSE(one.labels().empty());
  for (const view::Mark& mark : one.marks()) CHECK(one.area().contains(mark.box, 1));
  // Twice as fine: the same design, twice the pixels.
  Headless fine(1600, 1200, view::Theme::light(), 2);
  CHECK(fine.area() == one.area());
  const Image finer = fine.frame(session);
  CHECK(finer.width == 1600);
  REQUIRE(finer.height == 1200);
  double apart = 0;  // from the mean of the four pixels that are one in the other
  for (int y = 0; y < 600; ++y) {
    for (int x = 0; x < 800; ++x) {
      const auto of = [&](int dx, int dy) { return finer.at(2 * x + dx, 2 * y + dy)[1]; };
      apart += std::abs((of(0, 0) + of(1, 0) + of(0, 1) + of(1, 1)) / 4.0 - image.at(x, y)[1]);
    }
  }
  session.seek(0);
  const Image start = one.frame(session);
  double different = 0;
  for (int y = 0; y < 600; ++y) {
    for (int x = 0; x < 800; ++x) different += std::abs(start.at(x, y)[1] - image.at(x, y)[1]);
  }
  // Letters have other widths, so that a legend may break elsewhere; all else is in its place.
  CHECK(apart < 0.75 * different);
}

TEST_CASE("a file is replaced whole, or not at all") {
  const TemporaryFolder folder;
  const std::string path = folder / "picture.png";
  write_file(path, "before");
  write_file(path, "after");
  CHECK(read_whole_file(path) == "after");
  CHECK_THROWS_AS(write_file(folder / "none/picture.png", "x"), FileError);
  std::filesystem::create_directory(folder / "here");
  CHECK_THROWS_AS(write_file(folder / "here", "x"), FileError);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
}

TEST_CASE("a disk that is full leaves nothing, one line and status 1") {
  const TemporaryFolder folder;
  const Finished finished =
      run({"bash", "-c",
           fmt::format("trap '' XFSZ; ulimit -f 1; exec '{}' '{}' --export '{}'", program(),
                       traces_of("zero2", 3), folder / "full.png")});
  INFO(finished.describe());
  CHECK(finished.status == 1);
  CHECK(finished.errors().size() == 1);
  CHECK(folder.is_empty());
}

TEST_CASE("the same command writes the same bytes") {
  const TemporaryFolder folder;
  const std::string run_directory = traces_of("zero2", 3);
  for (const char* kind : {"png", "gif"}) {
    std::vector<std::string> bytes;
    for (const char* name : {"a", "b"}) {
      const std::string path = folder / (std::string(name) + "." + kind);
      const Finished finished =
          visualizer(std::vector<std::string>{run_directory, "--export", path, "--at",
                                              "2:3:block 1", "--view", "collective"} +
                     kSmall);
      INFO(finished.describe());
      REQUIRE(finished.status == 0);
      CHECK(finished.err.empty());
      bytes.push_back(read_whole_file(path));
    }
    CHECK(bytes[0].size() > 1000);
    CHECK(bytes[0] == bytes[1]);
  }
}

TEST_CASE("a film of a step moves, and ends as the picture of its end") {
  view::Session session = session_of({"zero2"});
  session.view = view::View::collective;
  const TemporaryFolder folder;
  ExportOptions options;
  options.width = 320;
  options.height = 200;
  options.scale = 0.5f;
  options.at = "2:3:head";
  options.path = folder / "a.gif";
  export_session(session, options);
  const std::string film = read_whole_file(options.path);
  int* delays = nullptr;
  int width = 0, height = 0, frames = 0, channels = 0;
  stbi_uc* pixels = stbi_load_gif_from_memory(reinterpret_cast<const stbi_uc*>(film.data()),
                                              static_cast<int>(film.size()), &delays, &width,
                                              &height, &frames, &channels, 4);
  REQUIRE(pixels != nullptr);
  CHECK(width == 320);
  CHECK(height == 200);
  CHECK(frames > 10);
  int total = 0;
  for (int i = 0; i < frames; ++i) total += delays[i];
  CHECK(delays[frames - 1] >= 1500);
  CHECK(total < 60'000);
  session.seek(stretch_of(session, "2:3:head").end);
  Headless headless(320, 200, view::Theme::light(), 0.5f);
  const Image last = headless.frame(session, view::Content::picture);
  const stbi_uc* shown = pixels + static_cast<std::size_t>(frames - 1) * last.rgba.size();
  int furthest = 0;
  for (std::size_t i = 0; i < last.rgba.size(); ++i) {
    furthest = std::max(furthest, std::abs(shown[i] - last.rgba[i]));
  }
  CHECK(furthest <= 64);  // soft edges share the palette's colours
  stbi_image_free(pixels);
  stbi_image_free(delays);
}

TEST_CASE("an MP4 is made where ffmpeg is, and leaves one line where it is not") {
  const TemporaryFolder folder;
  const std::vector<std::string> arguments = {
      traces_of("zero2", 3), "--at", "2:3:head", "--speed", "4", "--export", folder / "film.mp4"};
  RunOptions without;
  without.environment = {{"PATH", "/nonexistent"}};
  const Finished none = visualizer(arguments + kSmall, without);
  INFO(none.describe());
  CHECK(none.status == 1);
  REQUIRE(none.errors().size() == 1);
  CHECK_THAT(none.err, Catch::Contains("ffmpeg") && Catch::Contains(".gif"));
  CHECK(folder.is_empty());
  if (run({"bash", "-c", "command -v ffmpeg"}).status != 0) {
    WARN("ffmpeg is not there: no MP4 is made");
    return;
  }
  const Finished some = visualizer(arguments + kSmall);
  INFO(some.describe());
  CHECK(some.status == 0);
  CHECK(read_whole_file(folder / "film.mp4").substr(4, 4) == "ftyp");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("the visualizer says in one line what is wrong with a command") {
  const TemporaryFolder folder;
  const std::string directory = traces_of("zero2", 3), png = folder / "x.png";
  const auto fails = [&](const std::vector<std::string>& arguments, int status,
                         const std::string& words) {
    const Finished finished = visualizer(arguments);
    INFO(finished.describe());
    CHECK(finished.status == status);
    CHECK(finished.errors().size() == 1);
    CHECK_THAT(finished.err, Catch::Contains(words));
    CHECK(finished.out.empty());
    CHECK(folder.is_empty());
  };
  fails({}, 2, "RUN is required");
  fails({directory, "--export", png, "--frob"}, 2, "--frob");
  for (const char* size : {"0x100", "100x0", "-1x5", "16385x10", "10x16385", "100", "axb", "10x10x",
                           "99999999999x1", ""}) {
    fails({directory, "--export", png, "--size", size}, 2, "--size");
  }
  fails({directory, "--export", png, "--at", "9:9"}, 2, "there is no iteration 9");
  fails({directory, "--export", png, "--rank", "3"}, 2, "there are ranks 0 to 2");
  fails({directory, "--export", png, "--from", "1:1"}, 2, "is for films");
  fails({directory, "--export", png, "--view", "nothing"}, 2, "nothing");
  fails({directory, "--export", folder / "x.jpg"}, 2, ".png, .gif or .mp4");
  fails({directory, "--export", folder / "x.gif", "--at", "1:1", "--to", "1:2"}, 2, "--at");
  fails({directory, "--export", folder / "x.gif", "--from", "2:1", "--to", "1:1"}, 2,
        "two moments");
  fails({directory, "--at", "1:1"}, 2, "--export");
  fails({folder / "none", "--export", png}, 1, "no such directory");
  fails({folder.path(), "--export", png}, 1, "no trace here");
  // Whether there is a display or not.
  fails({folder / "none"}, 1, "no such directory");
  fails({folder.path()}, 1, "no trace here");
  fails({directory, "--export", folder / "none/x.png"}, 1, "no directory");
}

TEST_CASE("the help teaches what a run is, how one is made, and what moments are called") {
  const Finished help = visualizer({"--help"});
  CHECK(help.status == 0);
  CHECK(help.err.empty());
  for (const char* words :
       {"--trace out/zero2", "--export", "2:3", "e1000", "side by side", "--fps", "light"}) {
    CHECK_THAT(help.out, Catch::Contains(words));
  }
  CHECK_THAT(help.out, Catch::Contains(kMomentsHelp));
}

TEST_CASE("pictures of every view can be made of any size") {
  for (const std::string& stage : {std::string("zero3"), std::string("ddp")}) {
    for (const int ranks : {1, 3}) {
      view::Session session = session_of({stage}, ranks);
      for (const view::View view :
           {view::View::stages, view::View::collective, view::View::memory}) {
        session.view = view;
        for (const view::Content content : {view::Content::window, view::Content::picture,
                                            view::Content::plain, view::Content::strip}) {
          for (const int size : {1, 7, 60, 300, 2000}) {
            Headless headless(size, size / 2 + 1);
            const Image image = headless.frame(session, content);
            CHECK(image.width == size);
          }
        }
      }
    }
  }
}
