// Traces made to cost much: what they say is small, what they ask for is not. Each of these took
// minutes, or gigabytes, where the time or the memory went with the square of its length.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>

#include "catch.h"
#include "tests/support/files.h"
#include "visualizer/replay/alignment.h"
#include "visualizer/replay/run.h"

namespace zero::replay {
namespace {

constexpr int kMany = 100'000;

std::string header(int rank = 0, int world_size = 1) {
  return fmt::format(
      R"({{"e":"header","t":0,"format":"zero-steps-trace","version":1,"run":"hostile",)"
      R"("program":"none","rank":{},"world_size":{},"clock":"wall","dtype":"fp16",)"
      R"("iterations":0,"sampled":false,"num_parameters":1000000,"padded_parameters":1000000,)"
      R"("units":[],"tensors":[],"shards":[],"options":{{}},"closed_form":{{}}}})"
      "\n",
      rank, world_size);
}
std::string allocate(int buffer, int size) {
  return fmt::format(R"({{"e":"allocate","t":1,"buffer":{},"name":"b","category":"gradients",)"
                     R"("dtype":"fp16","address":null,"bytes":2,"size":{},"range":null}})"
                     "\n",
                     buffer, size);
}
std::string free(int buffer) {
  return fmt::format("{{\"e\":\"free\",\"t\":1,\"buffer\":{}}}\n", buffer);
}
std::string write(int at) {
  return fmt::format(R"({{"e":"write","t":1,"buffer":1,"at":{},"size":1,"range":null,)"
                     R"("what":"local gradient"}})"
                     "\n",
                     at);
}
// A message of this rank to itself, of the first elements of buffer 1.
std::string hop(const char* kind, int collective, int size, int at = 0) {
  return fmt::format(
      R"({{"e":"{}","t":1,"collective":{},"name":"reduce","algorithm":"ring","step":1,"steps":1,)"
      R"("chunk":0,"source":0,"destination":0,"effect":"copy","range":[0,{}],"bytes":2,)"
      R"("buffer":1,"at":{}{}}})"
      "\n",
      kind, collective, size, at,
      std::string_view(kind) == "receive" ? R"(,"own":null,"own_at":null,"divisor":1)" : "");
}
std::string step(const std::string& unit) {
  return R"({"e":"step","t":1,"iteration":0,"number":1,"caption":"c","unit":)" + unit + "}\n";
}

std::shared_ptr<const Run> run_of(const std::string& text) {
  const TemporaryFolder folder;
  write_whole_file(folder / "rank0.jsonl", text);
  return Run::open(folder.path());
}

std::vector<int> shuffled(int n) {
  std::vector<int> numbers;
  for (int i = 0; i < n; ++i) numbers.push_back(i);
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(6));
  return numbers;
}

bool has_note(const Run& run, const std::string& words) {
  return std::any_of(run.notes().begin(), run.notes().end(), [&](const std::string& note) {
    return note.find(words) != std::string::npos;
  });
}

TEST_CASE("a buffer may be cut into a hundred thousand cells") {
  const std::vector<int> order = shuffled(kMany);
  std::string text = header() + allocate(1, 2 * kMany);
  for (const int i : order) text += write(2 * i);
  const auto run = run_of(text);
  const World end = run->at(run->size());
  const auto& cells = end.ranks[0].buffer(1)->cells();
  REQUIRE(cells.all().size() == 2 * kMany);
  std::int64_t at = 0;
  for (const Cell& cell : cells.all()) {
    REQUIRE(cell.begin == at);
    REQUIRE(cell.end == ++at);
    REQUIRE(cell.content.kind == (at % 2 == 1 ? Kind::local_gradient : Kind::nothing));
  }
  for (std::size_t i = 0; i < order.size(); ++i) REQUIRE(cells.at(2 * order[i]).event == i + 1);
  CHECK(run->at(kMany / 2 + 1).ranks[0].buffer(1)->cells().size() == 2 * kMany);
}

TEST_CASE("a hundred thousand buffers may be born last to first, and die in any order") {
  std::string text = header();
  for (int i = kMany; i > 0; --i) text += allocate(i, 1);
  for (const int i : shuffled(kMany)) text += free(i + 1);
  const auto run = run_of(text);
  CHECK(run->notes().size() == 1);  // that it has no last line
  const World middle = run->at(kMany);
  CHECK(middle.ranks[0].buffers.size() == kMany);
  CHECK(middle.ranks[0].total.live == 2 * kMany);
  const World end = run->at(run->size());
  CHECK(end.ranks[0].buffers.empty());
  CHECK(end.ranks[0].total.live == 0);
  CHECK(end.ranks[0].total.peak == 2 * kMany);
}

TEST_CASE("a hundred thousand messages may be in flight, and arrive in any order") {
  std::string text = header() + allocate(1, 2);
  for (int i = 0; i < kMany; ++i) text += hop("send", i, 2);
  for (const int i : shuffled(kMany)) text += hop("receive", i, 2);
  const auto run = run_of(text);
  CHECK(run->at(kMany + 1).in_flight.size() == kMany);
  CHECK(run->at(run->size()).in_flight.empty());
  CHECK(run->at(run->size()).ranks[0].received == 2 * kMany);
}

// A buffer of very many cells, sent again and again, would be copied each time.
TEST_CASE("what is sent in too many pieces is unknown, and later messages are followed again") {
  std::string text = header() + allocate(1, 2 * kMany);
  for (int i = 0; i < kMany; ++i) text += write(2 * i);
  for (int i = 0; i < kMany; ++i) text += hop("send", i, 2 * kMany);
  text += hop("send", kMany, 3, 1);
  const auto run = run_of(text);
  CHECK(has_note(*run, "buffer 1 is in too many pieces to be followed"));
  CHECK(run->notes().size() < 50);
  const World end = run->at(run->size());
  REQUIRE(end.in_flight.size() == kMany + 1);
  CHECK(end.copied < std::size_t{1 << 20} + 16 * run->size());
  CHECK(end.in_flight.front().content->size() == 2 * kMany);
  std::size_t pieces = 0;
  for (const Transfer& transfer : end.in_flight) {
    pieces += transfer.content->size();
    const std::int64_t size = run->hop(transfer.send)->range.size();
    REQUIRE(transfer.content->back().end == size);
    if (transfer.content->size() == 1) {
      REQUIRE(transfer.content->front().content.kind == Kind::unknown);
    }
  }
  CHECK(pieces <= end.copied + kMany);  // those of unknown contents are one piece each
  const auto& last = *end.in_flight.back().content;
  REQUIRE(last.size() == 3);
  CHECK(last[0].content.kind == Kind::nothing);
  CHECK(last[1].content.kind == Kind::local_gradient);
}

TEST_CASE("a thousand ranks without a trace are one note, and cost little") {
  std::string text = header(0, 1024);
  for (int i = 0; i < kMany; ++i) text += step("null");
  const auto run = run_of(text);
  CHECK(run->world_size() == 1024);
  CHECK(run->chapters().size() == kMany);
  CHECK(run->chapters().back().begin == kMany);
  CHECK(has_note(*run, "1023 of 1024 ranks have no trace; the first is rank 1"));
  CHECK(run->notes().size() == 2);
}

TEST_CASE("a long name is not copied with every event") {
  std::string text = header() + step(fmt::format("\"{}\"", std::string(5'000'000, 'u')));
  for (int i = 0; i < kMany; ++i)
    text += "{\"e\":\"operator\",\"t\":1,\"name\":\"x\",\"unit\":null}\n";
  const auto run = run_of(text);
  const Alignment alignment({run, run});
  REQUIRE(alignment.phases().size() == 1);
  CHECK(alignment.phases()[0].unit.size() == 5'000'000);
  CHECK(alignment.length() == kMany + 1);
}

TEST_CASE("a library's collective may have very many parts, inside of its buffer or not") {
  std::string parts = R"({"range":[0,1],"from":[0]})";
  for (int i = 1; i < kMany; ++i) parts += R"(,{"range":[0,1],"from":[0]})";
  const auto library = [&](int at) {
    return R"({"e":"library","t":1,"collective":1,"name":"all_gather","effect":"copy","buffer":1,)"
           R"("at":)" +
           std::to_string(at) + ",\"parts\":[" + parts + "]}\n";
  };
  const auto run = run_of(header() + allocate(1, kMany) + library(0) + library(kMany));
  CHECK(run->notes().size() < 50);
  CHECK(run->at(2).ranks[0].buffer(1)->cells().all().size() == kMany);
  CHECK(run->at(3) == [&] {
    World same = run->at(2);
    same.apply(*run);
    return same;
  }());
  CHECK(run->at(3).ranks[0].buffers == run->at(2).ranks[0].buffers);
}

// ---- lines --------------------------------------------------------------------------------------

TEST_CASE("a line of a megabyte is read, one of seventeen is too long") {
  const auto with_line = [](std::size_t size) {
    return run_of(header() + step(fmt::format("\"{}\"", std::string(size, 'x'))) + step("null"));
  };
  CHECK(with_line(1 << 20)->chapters().size() == 2);
  CHECK(with_line(1 << 20)->chapters()[0].unit.size() == 1 << 20);
  const auto run = with_line(17 << 20);
  CHECK(run->chapters().empty());
  CHECK(has_note(*run, "rank0.jsonl:2: this line is too long: this rank is shown up to here"));
}

TEST_CASE("a line of brackets takes no memory to refuse") {
  for (const char* inside : {"[", "{\"a\":"}) {
    std::string line = R"({"e":"new","t":1,"x":)";
    for (int i = 0; i < kMany; ++i) line += inside;
    const auto run = run_of(header() + line + "\n");
    CHECK(has_note(*run, "rank0.jsonl:2: too many objects inside each other"));
  }
}

TEST_CASE("what a trace says stays one short line of a message") {
  const std::string odd = R"(\n\u001b[2J\u007f)" + std::string(10'000, 'x');
  const auto run = run_of(header() + R"({"e":")" + odd + "\",\"t\":1}\n" +
                          R"({"e":"allocate","t":1,"buffer":1,"name":"b","category":")" + odd +
                          R"(","dtype":"fp16","address":null,"bytes":2,"size":1,"range":null})"
                          "\n");
  REQUIRE(run->notes().size() == 1);
  const std::string& note = run->notes()[0];
  CHECK(note.size() < 500);
  CHECK(note.find("rank0.jsonl:3: \"??[2J?xxx") != std::string::npos);
  CHECK(note.find("xxx...: this rank is shown up to here") != std::string::npos);
}

TEST_CASE("step i of n is from 1 to n, or the line is refused") {
  const auto with = [](const char* steps) {
    std::string line = hop("send", 1, 1);
    line.replace(line.find("\"step\":1,\"steps\":1"), 18, steps);
    return run_of(header() + allocate(1, 2) + line);
  };
  CHECK(with("\"step\":2,\"steps\":2")->size() == 2);
  for (const char* bad :
       {"\"step\":0,\"steps\":2", "\"step\":3,\"steps\":2", "\"step\":0,\"steps\":0",
        "\"step\":-1,\"steps\":2", "\"step\":2147483648,\"steps\":2147483648"}) {
    CHECK(with(bad)->size() == 1);
    CHECK(has_note(*with(bad), "rank0.jsonl:3: \"step"));
  }
}

}  // namespace
}  // namespace zero::replay
