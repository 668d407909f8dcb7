// Reading tokens, and cutting them into micro-batches.
#include "common/train/data_loader.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

#include "common/memory/bytes.h"
#include "common/train/options.h"
#include "common/train/shipped_text.h"

namespace zero {
namespace {

constexpr std::int32_t kBinMagic = 20240520;  // llm.c: dev/data/data_common.py
constexpr std::int32_t kBinVersion = 1;
constexpr std::size_t kBinHeader = 256 * sizeof(std::int32_t);
constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;  // of a data set; all of it is held

// A file, or what comes through a pipe. Devices never end.
std::string read_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status))
    throw UsageError(fmt::format("--data {}: is a folder; name a text file or a .bin file", path));
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_fifo(status))
    throw UsageError(fmt::format("--data {}: is a device; name a text file or a .bin file", path));
  if (fs::is_regular_file(status) &&
      fs::file_size(path, error) > static_cast<std::uintmax_t>(kMostBytes)) {
    throw UsageError(
        fmt::format("--data {}: has {}; at most {} are read, cut it", path,
                    format_bytes(static_cast<std::int64_t>(fs::file_size(path, error))),
                    format_bytes(kMostBytes)));
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  std::string content;
  std::array<char, 1 << 16> block;
  while (file) {
    const std::size_t count = std::fread(block.data(), 1, block.size(), file.get());
    content.append(block.data(), count);
    if (content.size() > static_cast<std::size_t>(kMostBytes))
      throw UsageError(fmt::format("--data {}: does not end; cut it", path));
    if (count < block.size()) break;
  }
  if (!file || std::ferror(file.get()))
    throw UsageError(fmt::format("--data {}: cannot be read; check the name", path));
  if (content.empty()) throw UsageError(fmt::format("--data {}: is empty", path));
  return content;
}

std::vector<std::uint16_t> parse_text(std::string_view text) {
  std::vector<std::uint16_t> tokens(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) tokens[i] = static_cast<unsigned char>(text[i]);
  return tokens;
}

std::vector<std::uint16_t> parse_bin(const std::string& path, std::string_view content) {
  const auto malformed = [&](const std::string& what) {
    return UsageError(
        fmt::format("--data {}: not a token file as llm.c writes them: {}", path, what));
  };
  if (content.size() < kBinHeader)
    throw malformed(fmt::format("{} bytes, the header alone has {}", content.size(), kBinHeader));
  std::array<std::int32_t, 3> header{};
  std::copy_n(content.data(), sizeof(header), reinterpret_cast<char*>(header.data()));
  if (header[0] != kBinMagic)
    throw malformed(fmt::format("magic number {}, expected {}", header[0], kBinMagic));
  if (header[1] != kBinVersion)
    throw malformed(fmt::format("version {}, expected {}", header[1], kBinVersion));
  const std::int64_t present = static_cast<std::int64_t>(content.size() - kBinHeader) / 2;
  if (content.size() % 2 != 0) throw malformed("its last token has one byte of two");
  if (header[2] < 1 || header[2] != present)
    throw malformed(fmt::format("the header says {} tokens, the file holds {}",
                                with_commas(header[2]), with_commas(present)));
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(present));
  std::copy_n(content.data() + kBinHeader, content.size() - kBinHeader,
              reinterpret_cast<char*>(tokens.data()));
  return tokens;
}

}  // namespace

Dataset::Dataset(const std::string& path, int vocab) {
  if (path.empty()) tokens_ = parse_text(shipped_text());
  else if (path.ends_with(".bin")) tokens_ = parse_bin(path, read_file(path));
  else tokens_ = parse_text(read_file(path));
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i] < vocab) continue;
    throw UsageError(fmt::format("--data {}: token {} at {} is outside --vocab {}; raise --vocab",
                                 path.empty() ? "(the shipped text)" : path, tokens_[i],
                                 with_commas(static_cast<std::int64_t>(i)), vocab));
  }
}

Batch make_batch(const Dataset& dataset, int iteration, int batch, int T, int rank,
                 int world_size) {
  Batch result;
  result.B = batch / world_size;
  result.T = T;
  result.tokens.reserve(static_cast<std::size_t>(result.B) * T);
  result.targets.reserve(static_cast<std::size_t>(result.B) * T);
  const std::int64_t starts = dataset.size() - T;  // a sequence and the token after it
  for (int b = 0; b < result.B; ++b) {
    const std::int64_t sequence =
        static_cast<std::int64_t>(iteration) * batch + rank * result.B + b;
    const std::int64_t start = sequence % starts * T % starts;  // reduced first: no overflow
    for (std::int64_t t = start; t < start + T; ++t) {
      result.tokens.push_back(dataset.tokens()[t]);
      result.targets.push_back(dataset.tokens()[t + 1]);
    }
  }
  return result;
}

}  // namespace zero
