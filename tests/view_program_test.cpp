// The visualizer and replay as programs: what they say, how they end, and what they leave behind.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "catch.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/stage.h"
#include "visualizer/export/files.h"
#include "visualizer/replay/say.h"

using namespace zero;
namespace fs = std::filesystem;

namespace {

std::string trace() {
  static const TemporaryFolder folder;
  const std::string directory = folder / "zero2";
  if (!fs::exists(directory)) {
    Work work;
    work.ranks = 3;
    work.iterations = 1;
    work.more = {"--trace", directory};
    run_stage("zero2", work);
  }
  return directory;
}

// A line of bash in which $V, $R and $T are the visualizer, replay and a run; in `folder`.
Finished shell(const std::string& line, const std::string& folder = {}) {
  const fs::path programs = fs::path(stage_path("ddp")).parent_path().parent_path() / "visualizer";
  RunOptions options;
  options.directory = folder;
  options.environment = {
      {"V", programs / "visualizer"}, {"R", programs / "replay"}, {"T", trace()}};
  return run({"bash", "-c", line}, options);
}

int files_in(const std::string& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), {}));
}

bool is_png(const std::string& path) { return read_whole_file(path).substr(1, 3) == "PNG"; }

constexpr const char* kPicture = "$V $T --size 160x100 --scale 0.5 --export ";

}  // namespace

TEST_CASE("messages that cannot be written change no exit status") {
  const TemporaryFolder folder;
  for (const char* command : {"$V nosuch --export c.png", "$V nosuch", "$R nosuch"}) {
    for (const char* closed : {" 2>&-", " 2>/dev/full", " 2>&- >&- <&-"}) {
      CAPTURE(command, closed);
      CHECK(shell(command + std::string(closed), folder.path()).status == 1);
      CHECK(folder.is_empty());
    }
  }
  // No message, nor anything else, gets into a file that took a closed stream's place.
  CHECK(shell(kPicture + std::string("a.png 2>&- >&- <&-"), folder.path()).status == 0);
  CHECK(shell(kPicture + std::string("b.png"), folder.path()).status == 0);
  CHECK(read_whole_file(folder / "a.png") == read_whole_file(folder / "b.png"));
}

TEST_CASE("output that cannot be written is status 1 and one line") {
  for (const char* command : {"$V --help", "$R --help", "$R $T", "$R $T --steps"}) {
    for (const char* lost : {" > /dev/full", " >&-"}) {
      CAPTURE(command, lost);
      const Finished finished = shell(command + std::string(lost));
      CHECK(finished.status == 1);
      CHECK(finished.errors().size() == 1);
    }
  }
}

TEST_CASE("both programs end with 1 for what cannot be read, with 2 for a wrong command") {
  const auto ends = [](const std::string& command, int status, const std::string& words) {
    const TemporaryFolder folder;
    const Finished finished = shell(command, folder.path());
    INFO(finished.describe());
    CHECK(finished.status == status);
    CHECK(finished.errors().size() == 1);
    CHECK_THAT(finished.err, Catch::Contains(words));
    CHECK(finished.out.empty());
    CHECK(folder.is_empty());
  };
  ends("$R nosuch", 1, "nosuch: no such directory");
  ends("$R $T --frob", 2, "--frob");
  ends("$R $T --at -1", 2, "'-1': expected a whole number, 0 or more");
  ends("$R $T --at 99999999999999999999", 2, "expected a whole number, 0 or more");
  ends("$R $T --at 1.5", 2, "expected a whole number, 0 or more");
  ends("$R $T --at 99999999", 2, "--at 99999999: there are ");
  ends("$R $T --step 0", 2, "'0': expected a whole number, 1 or more");
  ends("$R $T --step 9999", 2, "--step 9999: there are ");
  ends("$R $T --history 0 999 0", 2, "--history: rank 0 has no buffer 999");
  for (const char* number : {"nan", "inf", "-1", "x", "''", "1e9"}) {
    const std::string command = std::string("$V $T --export x.gif ");
    const auto option = [&](const std::string& name) { return command + name + " " + number; };
    ends(option("--scale"), 2, "--scale");
    ends(option("--speed"), 2, "--speed");
    ends(option("--fps"), 2, "--fps");
  }
  ends("$V $T --export x.gif --scale nan", 2, "'nan': expected a number from 0.5 to 8");
  ends("$V $T --rank 3", 2, "--rank 3: there are ranks 0 to 2");
  ends("$V $T --rank 3 --export x.png", 2, "--rank 3: there are ranks 0 to 2");
  ends("$V $T --rank -1", 2, "expected a number from 0 to 1023");
  ends("$V $T --export ''", 2, "--export");
  ends("$V $T --export x.gif --content strip", 2, "a strip is one picture");
  ends("$V $T --export x.mp4 --content strip", 2, "a strip is one picture");
  ends("$V $T --export x.png --content strip --view memory", 2, "a strip shows a collective");
  ends("$V $T --export x.png --size 8192x8193", 2, "at most 67,108,864 pixels");
  for (const char* help : {"$V --help", "$R --help"}) {
    CHECK_THAT(shell(help).out, Catch::Contains(kExitStatus));
  }
}

TEST_CASE("what is no file that can be read is named, and never waited for") {
  const auto says = [](const std::string& make, int status, const std::string& words) {
    for (const char* command : {"$V d --export x.png", "$V d", "$R d"}) {
      const TemporaryFolder folder;
      const Finished finished =
          shell("mkdir d; " + make + "; exec timeout 20 " + command, folder.path());
      INFO(finished.describe());
      CHECK(finished.status == status);
      CHECK(finished.errors().size() == 1);
      CHECK_THAT(finished.err, Catch::Contains(words));
      CHECK(files_in(folder.path()) == 1);
    }
  };
  says("mkfifo d/rank0.jsonl", 1, "d/rank0.jsonl: not a regular file");
  says("ln -s /dev/zero d/rank1.jsonl", 1, "d/rank1.jsonl: not a regular file");
  says("mkdir d/rank0.jsonl", 1, "d/rank0.jsonl: not a regular file");
  says("rmdir d; echo > d", 1, "d: not a directory");
  says("ln -s rank0.jsonl d/rank0.jsonl", 1, "d/rank0.jsonl: Too many levels of symbolic links");
  if (geteuid() != 0) {  // who may read everything
    says("cp $T/rank0.jsonl d; chmod 0 d/rank0.jsonl", 1, "d/rank0.jsonl: Permission denied");
  }
  // The other ranks are shown.
  const TemporaryFolder folder;
  const Finished some =
      shell("cp -r $T d; rm d/rank1.jsonl; mkfifo d/rank1.jsonl; exec timeout 20 $R d --steps",
            folder.path());
  INFO(some.describe());
  CHECK(some.status == 0);
  CHECK_THAT(some.err, Catch::Contains("d/rank1.jsonl: not a regular file"));
}

TEST_CASE("a picture takes the place of a regular file, or of what a link leads to") {
  const TemporaryFolder folder;
  const auto exports = [&](const std::string& name) {
    return shell(kPicture + name, folder.path());
  };
  fs::create_directory(folder / "other");
  fs::create_symlink("other/there.png", folder / "link.png");  // not there yet
  fs::create_symlink("link.png", folder / "links.png");
  for (int i = 0; i < 2; ++i) {
    REQUIRE(exports("links.png").status == 0);
    CHECK(is_png(folder / "other/there.png"));
    CHECK(fs::is_symlink(folder / "link.png"));
    CHECK(fs::is_symlink(folder / "links.png"));
    CHECK(files_in(folder / "other") == 1);
    write_file(folder / "other/there.png", "old");
  }
  // Its permissions stay; those of a new file are the usual.
  fs::permissions(folder / "other/there.png", fs::perms(0640));
  REQUIRE(exports("link.png").status == 0);
  CHECK(fs::status(folder / "other/there.png").permissions() == fs::perms(0640));
  REQUIRE(shell("umask 027; " + std::string(kPicture) + "new.png", folder.path()).status == 0);
  CHECK(fs::status(folder / "new.png").permissions() == fs::perms(0640));

  fs::create_symlink("round.png", folder / "round.png");
  REQUIRE(mkfifo((folder / "fifo.png").c_str(), 0600) == 0);
  fs::create_symlink("/dev/null", folder / "device.png");
  for (const char* name : {"fifo.png", "device.png", "round.png"}) {
    const Finished finished = exports(name);
    INFO(finished.describe());
    CHECK(finished.status == 1);
    CHECK(finished.errors().size() == 1);
  }
  CHECK_THAT(exports("fifo.png").err, Catch::Contains("fifo.png: not a regular file"));
  if (geteuid() != 0) {  // who may write everything
    fs::permissions(folder / "new.png", fs::perms(0440));
    const Finished refused = exports("new.png");
    CHECK(refused.status == 1);
    CHECK_THAT(refused.err, Catch::Contains("new.png: Permission denied"));
  }
  CHECK(files_in(folder.path()) == 7);
}

TEST_CASE("two exports to one name do not disturb each other, nor what stands beside it") {
  const TemporaryFolder folder;
  write_file(folder / "x.gif.partial", "mine");
  const std::string film = std::string(kPicture) + "x.gif --at 1:3 --speed 8";
  const Finished both =
      shell(film + " & " + film + "; one=$?; wait $! && exit $one", folder.path());
  INFO(both.describe());
  CHECK(both.status == 0);
  CHECK(read_whole_file(folder / "x.gif").substr(0, 6) == "GIF89a");
  CHECK(read_whole_file(folder / "x.gif").back() == ';');
  CHECK(read_whole_file(folder / "x.gif.partial") == "mine");
  CHECK(files_in(folder.path()) == 2);
  // As long as a name can be.
  const std::string longest = std::string(251, 'n') + ".png";
  CHECK(shell(kPicture + longest, folder.path()).status == 0);
  CHECK(is_png(folder / longest));
}

TEST_CASE("an export that is interrupted ends by that signal and leaves nothing behind") {
  const bool ffmpeg = run({"bash", "-c", "command -v ffmpeg"}).status == 0;
  for (const std::string& kind : {std::string("gif"), std::string("mp4")}) {
    if (kind == "mp4" && !ffmpeg) continue;
    for (const auto& [signal, status] : {std::pair("INT", 130), {"TERM", 143}, {"HUP", 129}}) {
      CAPTURE(kind, signal);
      const TemporaryFolder folder;
      // A film of minutes; the signal goes to all of its process group, as from a terminal, once
      // the file has been begun.
      const std::string film =
          "$V $T --size 640x360 --speed 0.05 --from start --to end --export \"$PWD\"/x." + kind;
      const Finished finished = shell(
          fmt::format("set -m; {} & until ls -A | grep -q partial; do sleep 0.02; done; sleep 0.3; "
                      "kill -{} -$!; wait $!",
                      film, signal),
          folder.path());
      INFO(finished.describe());
      CHECK(finished.status == status);
      CHECK_FALSE(finished.timed_out);
      CHECK(folder.is_empty());
      CHECK(shell(fmt::format("pgrep -f -- ' {}/[.]partial'", folder.path())).out.empty());
    }
  }
}
