// Rules of the sources: the stages stay short and close to each other, common does not know them,
// and dependencies point one way.
#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "catch.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string stage_source(const std::string& stage) {
  return read_whole_file(source_path("stages/" + stage + ".cpp"));
}

// The C++ files below a folder of the project, as paths relative to the project.
std::vector<std::string> sources_in(const std::string& folder) {
  std::vector<std::string> result;
  const std::string root = source_path("");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           source_path(folder), std::filesystem::directory_options::follow_directory_symlink)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".cpp") || path.ends_with(".h") || path.ends_with(".cu") ||
        path.ends_with(".cuh"))
      result.push_back(path.substr(root.size()));
  }
  std::sort(result.begin(), result.end());
  REQUIRE_FALSE(result.empty());
  return result;
}

int count_prefixed(const std::string& text, char first) {
  int count = 0;
  for (const std::string& line : lines_of(text)) count += !line.empty() && line[0] == first;
  return count;
}

}  // namespace

TEST_CASE("each stage is a program of at most 100 lines") {
  for (const std::string& stage : kStages) {
    INFO(stage);
    const std::size_t lines = lines_of(stage_source(stage)).size();
    CHECK(lines <= 100);
    CHECK(lines >= 40);
  }
}

TEST_CASE("neighbouring stages differ by at most 30 lines on either side of diff") {
  for (std::size_t i = 0; i + 1 < kStages.size(); ++i) {
    INFO(kStages[i] << " and " << kStages[i + 1]);
    const Finished diff = run({"diff", source_path("stages/" + kStages[i] + ".cpp"),
                               source_path("stages/" + kStages[i + 1] + ".cpp")});
    REQUIRE(diff.status == 1);
    CHECK(count_prefixed(diff.out, '<') <= 30);
    CHECK(count_prefixed(diff.out, '>') <= 30);
  }
}

TEST_CASE("all six banners stand in every stage, in order") {
  for (const std::string& stage : kStages) {
    INFO(stage);
    const std::string source = stage_source(stage);
    std::size_t at = 0;
    for (const char digit : {'1', '2', '3', '4', '5', '6'}) {
      const std::size_t next = source.find(std::string("rank.step(\"") + digit + ". ");
      REQUIRE(next != std::string::npos);
      CHECK(next > at);
      CHECK(source.find(std::string("rank.step(\"") + digit + ". ", next + 1) == std::string::npos);
      at = next;
    }
  }
}

TEST_CASE("a stage has no flag of another stage, no helper and no lambda, and one line of main") {
  for (const std::string& stage : kStages) {
    INFO(stage);
    const std::string source = stage_source(stage);
    CHECK_FALSE(std::regex_search(source, std::regex(R"(if \(.*stage)")));
    CHECK_FALSE(std::regex_search(source, std::regex(R"(\[[&=]?\]\s*[({])")));
    CHECK_FALSE(std::regex_search(source, std::regex(R"(\b(class|struct|template)\b)")));
    const auto lines = lines_of(source);
    CHECK(lines.back().starts_with("int main("));
    // Functions begin at the left margin: train and main.
    int functions = 0;
    for (const std::string& line : lines)
      functions += std::regex_search(line, std::regex(R"(^\w.*\) \{)"));
    CHECK(functions == 2);
  }
}

TEST_CASE("common does not know the stages") {
  const std::regex name(
      R"((^|[^A-Za-z])(ddp|zero_?[123]|ZeRO-[123]|stage_?[0123])([^A-Za-z0-9]|$))",
      std::regex::icase);
  for (const std::string& path : sources_in("common")) {
    if (path == "common/trace/trace_export.cpp") continue;  // a program: its --help has examples
    int number = 0;
    for (const std::string& line : lines_of(read_whole_file(source_path(path)))) {
      ++number;
      INFO(path << ":" << number << ": " << line);
      // What a name means may be explained; no code may depend on it.
      const std::string code = line.substr(0, line.find("//"));
      CHECK_FALSE(std::regex_search(code, name));
    }
  }
}

TEST_CASE("no conditional compilation, no macros, no float atomics") {
  const std::regex conditional(R"(^\s*#\s*(if|ifdef|ifndef|elif|else|endif|define|undef)\b)");
  const std::regex float_atomic(R"(atomic(_ref)?<\s*(float|double)|atomicAdd)");
  for (const std::string folder : {"common", "stages", "exercises", "tests"}) {
    for (const std::string& path : sources_in(folder)) {
      const bool catch_main = path.find("catch2_v2/main.cpp") != std::string::npos;
      const bool this_test = path.ends_with("stages_test.cpp");
      // The toolkit's own words, where there is no toolkit.
      const bool toolkit = path.starts_with("tests/emulated_cuda/include/");
      // Answers that try everything to deceive the course's check.
      const bool hostile = path.starts_with("tests/course/hostile/");
      int number = 0;
      for (const std::string& line : lines_of(read_whole_file(source_path(path)))) {
        ++number;
        if (catch_main || this_test) continue;
        INFO(path << ":" << number << ": " << line);
        if (!toolkit && !hostile) CHECK_FALSE(std::regex_search(line, conditional));
        CHECK_FALSE(std::regex_search(line, float_atomic));
      }
    }
  }
}

TEST_CASE("dependencies point one way: stages, train, model and comm, device, memory and trace") {
  // Who may include whom. Model's activations are made for a Rank: the one exception.
  const std::map<std::string, std::set<std::string>> allowed = {
      {"memory", {"memory"}},
      {"trace", {"trace", "memory"}},
      {"device", {"device", "memory", "trace"}},
      {"fibers", {"fibers"}},
      {"comm", {"comm", "fibers", "device", "memory", "trace"}},
      {"model", {"model", "device", "memory", "trace", "comm"}},
      {"train", {"train", "model", "comm", "device", "memory", "trace"}}};
  const std::set<std::string> exceptions = {"common/model/activations.cpp"};
  const std::regex include("^#include \"common/([a-z]+)/");
  for (const std::string& path : sources_in("common")) {
    const std::string part = path.substr(7, path.find('/', 7) - 7);
    REQUIRE(allowed.contains(part));
    for (const std::string& line : lines_of(read_whole_file(source_path(path)))) {
      INFO(path << ": " << line);
      std::smatch match;
      CHECK(line.find("#include \"stages/") == std::string::npos);
      CHECK(line.find("#include \"tests/") == std::string::npos);
      if (!std::regex_search(line, match, include) || exceptions.contains(path)) continue;
      CHECK(allowed.at(part).contains(match[1]));
    }
  }
}

TEST_CASE("every file opens with one sentence that says what it is") {
  for (const std::string folder : {"common", "stages"}) {
    for (const std::string& path : sources_in(folder)) {
      INFO(path);
      const std::string first = lines_of(read_whole_file(source_path(path))).at(0);
      CHECK(first.starts_with("// "));
    }
  }
}

}  // namespace zero
