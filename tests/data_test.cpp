// The data: the same global batch for any number of ranks, contiguous parts, and llm.c's files.
#include <cstring>

#include "catch.h"
#include "common/train/data_loader.h"
#include "common/train/options.h"
#include "tests/support/files.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

// llm.c's file: 256 int32 of header, then uint16.
std::string bin_file(std::vector<std::int32_t> header, const std::vector<std::uint16_t>& tokens) {
  header.resize(256);
  std::string content(1024 + 2 * tokens.size(), '\0');
  std::memcpy(content.data(), header.data(), 1024);
  if (!tokens.empty()) std::memcpy(content.data() + 1024, tokens.data(), 2 * tokens.size());
  return content;
}

std::string text_of(int size) {
  std::string text;
  for (int i = 0; i < size; ++i) text.push_back(static_cast<char>('a' + i * 7 % 26));
  return text;
}

}  // namespace

TEST_CASE("the global batch is the same for any number of ranks, and rank r has its r-th part") {
  const TemporaryFolder folder;
  write_whole_file(folder / "text", text_of(101));
  const Dataset dataset(folder / "text", 256);
  const int T = 7, batch = 120;
  for (const int iteration : {0, 1, 5}) {
    const Batch whole = make_batch(dataset, iteration, batch, T, 0, 1);
    REQUIRE(whole.tokens.size() == static_cast<std::size_t>(batch * T));
    for (const int K : {2, 3, 4, 5, 6, 8}) {
      Batch joined;
      for (int rank = 0; rank < K; ++rank) {
        const Batch part = make_batch(dataset, iteration, batch, T, rank, K);
        CHECK(part.B == batch / K);
        CHECK(part.T == T);
        joined.tokens.insert(joined.tokens.end(), part.tokens.begin(), part.tokens.end());
        joined.targets.insert(joined.targets.end(), part.targets.begin(), part.targets.end());
      }
      CHECK(joined.tokens == whole.tokens);
      CHECK(joined.targets == whole.targets);
    }
  }
}

TEST_CASE("sequence s begins at token s*T, and wraps around where T+1 tokens no longer fit") {
  const std::string text = text_of(23);
  const TemporaryFolder folder;
  write_whole_file(folder / "text", text);
  const Dataset dataset(folder / "text", 256);
  REQUIRE(dataset.size() == 23);
  const int T = 5, batch = 3;
  for (int iteration = 0; iteration < 40; ++iteration) {
    const Batch got = make_batch(dataset, iteration, batch, T, 0, 1);
    for (int b = 0; b < batch; ++b) {
      const int start = (iteration * batch + b) * T % (23 - T);
      for (int t = 0; t < T; ++t) {
        CHECK(got.tokens[b * T + t] == text[start + t]);
        CHECK(got.targets[b * T + t] == text[start + t + 1]);
      }
    }
  }
}

TEST_CASE("a text of T+1 tokens is just long enough, also after billions of sequences") {
  const TemporaryFolder folder;
  write_whole_file(folder / "text", "abcdefgh");
  const Dataset dataset(folder / "text", 256);
  for (const int iteration : {0, 1, 2'000'000'000}) {
    const Batch got = make_batch(dataset, iteration, 1 << 20, 7, 1, 1 << 20);
    CHECK(got.tokens == std::vector<std::int32_t>{'a', 'b', 'c', 'd', 'e', 'f', 'g'});
    CHECK(got.targets == std::vector<std::int32_t>{'b', 'c', 'd', 'e', 'f', 'g', 'h'});
  }
}

TEST_CASE("text is bytes, those above 127 included") {
  const TemporaryFolder folder;
  write_whole_file(folder / "text", std::string("a\xff\x00\x80", 4));
  const Dataset dataset(folder / "text", 256);
  CHECK(dataset.tokens() == std::vector<std::uint16_t>{97, 255, 0, 128});
}

TEST_CASE("the shipped text is long enough to train on, and is text") {
  const Dataset dataset("", 256);
  CHECK(dataset.size() > 10'000);
  std::string shipped = read_whole_file(source_path("stages/data/text.txt"));
  REQUIRE(dataset.size() == static_cast<std::int64_t>(shipped.size()));
  for (std::size_t i = 0; i < shipped.size(); ++i) {
    if (dataset.tokens()[i] != static_cast<unsigned char>(shipped[i])) FAIL("differs at " << i);
  }
}

TEST_CASE("a .bin file's tokens are read as llm.c wrote them") {
  const TemporaryFolder folder;
  const std::vector<std::uint16_t> tokens = {0, 1, 50256, 513, 17};
  write_whole_file(folder / "a.bin", bin_file({20240520, 1, 5}, tokens));
  CHECK(Dataset(folder / "a.bin", 50257).tokens() == tokens);
}

TEST_CASE("a malformed .bin file is refused, with the reason") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.bin";
  const auto reason = [&](const std::string& content, int vocab) -> std::string {
    write_whole_file(path, content);
    try {
      const Dataset dataset(path, vocab);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK_THAT(reason(bin_file({1, 1, 2}, {3, 4}), 256), contains_text("magic number 1"));
  CHECK_THAT(reason(bin_file({20240520, 7, 2}, {3, 4}), 256), contains_text("version 7"));
  CHECK_THAT(reason(bin_file({20240520, 1, 3}, {3, 4}), 256), contains_text("says 3 tokens"));
  CHECK_THAT(reason(bin_file({20240520, 1, 1}, {3, 4}), 256), contains_text("holds 2"));
  CHECK_THAT(reason(bin_file({20240520, 1, -1}, {}), 256), contains_text("says -1 tokens"));
  CHECK_THAT(reason(bin_file({20240520, 1, 2}, {3, 4}) + "x", 256),
             contains_text("one byte of two"));
  CHECK_THAT(reason(std::string(1000, '\0'), 256), contains_text("1000 bytes"));
  CHECK_THAT(reason("", 256), contains_text("is empty"));
  CHECK_THAT(reason(bin_file({20240520, 1, 3}, {3, 256, 4}), 256),
             contains_text("token 256 at 1 is outside --vocab 256"));
  CHECK(reason(bin_file({20240520, 1, 3}, {3, 255, 4}), 256) == "accepted");
}

TEST_CASE("a stage trains on a .bin file, with GPT-2's vocabulary unless told otherwise") {
  const TemporaryFolder folder;
  write_whole_file(folder / "a.bin", bin_file({20240520, 1, 9}, {1, 2, 3, 300, 300, 1, 2, 3, 4}));
  Work work;
  work.vocab = 301;
  work.batch = 3;
  work.iterations = 1;
  work.more = {"--data", folder / "a.bin"};
  const nlohmann::json result = run_stage("zero3", work);
  CHECK(result.at("iterations").at(0).at("loss").get<double>() ==
        Approx(std::log(301.0)).epsilon(0.01));

  std::vector<std::string> command = {stage_path("zero2"),
                                      "--ranks",
                                      "1",
                                      "--channels",
                                      "4",
                                      "--context",
                                      "3",
                                      "--layers",
                                      "1",
                                      "--batch",
                                      "1",
                                      "--iterations",
                                      "1",
                                      "--data",
                                      folder / "a.bin",
                                      "--json",
                                      folder / "json",
                                      "--quiet"};
  const Finished finished = run(command);
  INFO(finished.describe());
  REQUIRE(finished.status == 0);
  const auto json = nlohmann::json::parse(read_whole_file(folder / "json"));
  CHECK(json.at("options").at("vocab") == 50257);
}

}  // namespace zero
