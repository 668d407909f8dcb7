// The reader against cut-off, altered and hostile traces.
#include <algorithm>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"
#include "common/trace/reader.h"
#include "tests/small_run.h"
#include "tests/support/files.h"

namespace zero {
namespace {

// Always a new file: some file systems wait for the disk when a file is emptied and written again.
void write_text(const std::string& path, const std::string& text) {
  std::filesystem::remove(path);
  write_whole_file(path, text);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string error_of(const std::string& path) {
  try {
    TraceReader reader(path);
    while (reader.next()) {
    }
  } catch (const TraceError& error) {
    const std::string message = error.what();
    return message.starts_with(path) ? message.substr(path.size()) : message;
  }
  return "no error";
}

TEST_CASE("a trace cut off at any byte gives the events of its whole lines") {
  const TemporaryFolder folder;
  SmallRun::Options options;
  options.iterations = 1;
  SmallRun(folder.path(), options);
  const std::string whole = read_whole_file(folder / "rank1.jsonl");
  const std::size_t header_size = whole.find('\n') + 1;
  const std::string path = folder / "cut.jsonl";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_text(path, whole.substr(0, size));
    if (size < header_size) {
      REQUIRE(error_of(path).starts_with(":1: "));
      continue;
    }
    TraceReader reader(path);
    const auto expected = std::count(whole.begin(), whole.begin() + static_cast<long>(size), '\n');
    std::int64_t events = 0;
    while (reader.next()) ++events;
    REQUIRE(events == expected - 1);
    REQUIRE(reader.cut_off() == (whole[size - 1] != '\n'));
    REQUIRE_FALSE(reader.ended());
    REQUIRE(reader.notes().size() == 1);
  }
}

TEST_CASE("random damage to a trace gives an error with file and line, or events, never a crash") {
  const TemporaryFolder folder;
  SmallRun::Options options;
  options.iterations = 1;
  SmallRun(folder.path(), options);
  const std::string whole = read_whole_file(folder / "rank1.jsonl");
  const std::string path = folder / "damaged.jsonl";
  std::mt19937 random(7);
  int errors = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (std::uint32_t n = 0; n <= random() % 3; ++n) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 4) {
        case 0:
          damaged[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
          break;
        case 2:
          damaged.erase(at, random() % 20);
          break;
        default:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 20));
      }
    }
    write_text(path, damaged);
    const std::string error = error_of(path);
    if (error == "no error") continue;
    ++errors;
    REQUIRE(error[0] == ':');
    REQUIRE(std::stoi(error.substr(1)) >= 1);
    REQUIRE(error.find('\n') == std::string::npos);
  }
  CHECK(errors > 1000);
}

TEST_CASE("each fault in a line is named, with file and line") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.jsonl";
  SmallRun(folder.path(), {});
  const std::string header = lines_of(read_whole_file(folder / "rank0.jsonl"))[0] + "\n";
  const std::string hop =
      R"("collective":1,"name":"a","algorithm":"ring","step":1,"steps":2,"chunk":0,)";

  write_text(path, "");
  CHECK(error_of(path) == ":1: the file is empty");
  write_text(path, header.substr(0, 30));
  CHECK(error_of(path) == ":1: no header: the file is cut off within it");
  write_text(path, "hello\n");
  CHECK(error_of(path) == ":1: not JSON");
  write_text(path, "{\"e\":\"step\"}\n");
  CHECK(error_of(path) == ":1: no header: this is not a trace of ZeRO Steps");
  write_text(path, std::string("\x7f"
                               "ELF\0\0\n\0\n",
                               9));
  CHECK(error_of(path) == ":1: not JSON");
  write_text(path, "{\"format\":\"zero-steps-trace\",\"version\":2}\n");
  CHECK(error_of(path) == ":1: version 2 of the trace format; this program reads 1");
  write_text(path, "{\"format\":\"zero-steps-trace\",\"version\":1}\n");
  CHECK(error_of(path) == ":1: \"run\" is missing");
  write_text(path, std::string(100'000, '[') + "\n");
  CHECK(error_of(path) == ":1: too many objects inside each other");
  CHECK(error_of(folder / "nothing.jsonl") == ": cannot be opened");

  const std::vector<std::pair<std::string, std::string>> faults = {
      {"not json", "not JSON"},
      {"[1,2]", "not a JSON object"},
      {"{}", "\"e\" is missing"},
      {R"({"e":7})", "\"e\" should be text"},
      {R"({"e":"free","buffer":1})", "\"t\" is missing"},
      {R"({"e":"free","t":-1,"buffer":1})",
       "\"t\" should be an integer from 0 to 9007199254740992"},
      {R"({"e":"free","t":1.5,"buffer":1})",
       "\"t\" should be an integer from 0 to 9007199254740992"},
      {R"({"e":"free","t":18446744073709551615,"buffer":1})",
       "\"t\" should be an integer from 0 to 9007199254740992"},
      {R"({"e":"free","t":1e400,"buffer":1})", "not JSON"},
      {R"({"e":"free","t":1,"buffer":0})",
       "\"buffer\" should be an integer from 1 to 9007199254740992"},
      {R"({"e":"allocate","t":1,"buffer":1,"name":"x","category":"hats"})",
       "\"hats\" is not a category of memory"},
      {R"({"e":"allocate","t":1,"buffer":1,"name":"x","category":"gradients","dtype":"fp8"})",
       "\"fp8\" is not a type"},
      {R"({"e":"write","t":1,"buffer":1,"at":0,"size":3,"range":[3,2],"what":"zero"})",
       "\"range\" should be [begin, end] with begin <= end"},
      {R"({"e":"write","t":1,"buffer":1,"at":0,"size":3,"range":[0,10],"what":"zero"})",
       "\"range\" should be an integer from 0 to 9"},
      {R"({"e":"write","t":1,"buffer":1,"at":0,"size":3,"range":[3],"what":"zero"})",
       "\"range\" should be [begin, end]"},
      {R"({"e":"send","t":1,)" + hop +
           R"("source":1,"destination":2,"effect":"add","range":[0,1],)" +
           R"("bytes":1,"buffer":1,"at":0})",
       "\"source\" should be this rank"},
      {R"({"e":"send","t":1,)" + hop +
           R"("source":0,"destination":3,"effect":"add","range":[0,1]})",
       "\"destination\" should be an integer from 0 to 2"},
      {R"({"e":"send","t":1,)" + hop +
           R"("source":0,"destination":1,"effect":"sub","range":[0,1]})",
       "\"effect\" should be \"copy\" or \"add\""}};
  for (const auto& [line, message] : faults) {
    write_text(path, header + "{\"e\":\"operator_end\",\"t\":0,\"name\":\"x\"}\n" + line + "\n");
    INFO(line);
    CHECK(error_of(path) == ":3: " + message);
  }
  write_text(path, header + "{\"e\":\"operator_end\",\"t\":9,\"name\":\"x\"}\n" +
                       "{\"e\":\"operator_end\",\"t\":8,\"name\":\"x\"}\n");
  CHECK(error_of(path) == ":3: \"t\" is less than in the line before");
}

TEST_CASE("unknown kinds of events are skipped with a note, unknown keys without") {
  const TemporaryFolder folder;
  SmallRun(folder.path(), {});
  const std::string header = lines_of(read_whole_file(folder / "rank0.jsonl"))[0] + "\n";
  const std::string path = folder / "x.jsonl";
  write_text(path, header + R"({"e":"dance","t":1})" + "\n" +
                       R"({"e":"free","t":1,"buffer":4,"mood":"good"})" + "\n" +
                       R"({"e":"dance","t":2})" + "\n" +
                       R"({"e":"end","t":2,"reason":"closed","message":null})" + "\n");
  TraceReader reader(path);
  const auto first = reader.next();
  REQUIRE(first);
  CHECK(first->line == 3);
  CHECK(std::get<event::Free>(first->what).buffer == 4);
  CHECK(std::holds_alternative<event::End>(reader.next()->what));
  REQUIRE(reader.notes().size() == 1);
  CHECK(reader.notes()[0] == path + ":2: 2 events of the unknown kind \"dance\" skipped");
}

TEST_CASE("a run with missing ranks, files of another run or no files says so") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(read_run(folder.path()), TraceError);
  CHECK_THROWS_AS(read_run(folder / "nowhere"), TraceError);
  SmallRun::Options options;
  options.world_size = 5;
  SmallRun(folder.path(), options);
  std::filesystem::remove(folder / "rank3.jsonl");
  options.run = "another";
  const TemporaryFolder other;
  SmallRun(other.path(), options);
  std::filesystem::copy(other / "rank4.jsonl", folder / "rank4.jsonl",
                        std::filesystem::copy_options::overwrite_existing);
  const RunTrace run = read_run(folder.path());
  CHECK(run.ranks.size() == 3);
  REQUIRE(run.notes.size() == 2);
  CHECK(run.notes[0].find("rank4.jsonl: left out: it belongs to another run") != std::string::npos);
  CHECK(run.notes[1].find("2 of 5 ranks have no trace; the first is rank 3") != std::string::npos);

  std::filesystem::copy(other / "rank1.jsonl", folder / "rank0.jsonl",
                        std::filesystem::copy_options::overwrite_existing);
  CHECK_THROWS_AS(read_run(folder.path()), TraceError);
}

}  // namespace
}  // namespace zero
