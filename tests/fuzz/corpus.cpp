// Unpacks entries, and reports on each.
#include "tests/fuzz/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/support/files.h"

namespace zero {

namespace fs = std::filesystem;

std::vector<std::string> files_of(std::string_view entry) {
  std::vector<std::string> files(1);
  while (!entry.empty()) {
    const std::size_t end = std::min(entry.find('\n'), entry.size() - 1) + 1;
    const std::string_view line = entry.substr(0, end);
    entry.remove_prefix(end);
    if (line != kNextRank) files.back() += line;
    else if (files.size() == kMostFiles) break;
    else files.emplace_back();
  }
  return files;
}

std::string rank_path(const std::string& directory, std::size_t rank) {
  return fmt::format("{}/rank{}.jsonl", directory, rank);
}

void write_files(const std::string& directory, const std::vector<std::string>& files) {
  for (std::size_t r = 0; r < kMostFiles; ++r) {
    if (r < files.size()) std::ofstream(rank_path(directory, r), std::ios::binary) << files[r];
    else fs::remove(rank_path(directory, r));
  }
}

void check_message(const std::string& message, const std::string& directory) {
  const bool plain = std::none_of(message.begin(), message.end(),
                                  [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (!plain) throw std::logic_error("a message has control characters: " + message);
  if (!message.starts_with(directory)) {
    throw std::logic_error("a message does not begin with the file: " + message);
  }
  if (message.size() > directory.size() + 500) {
    throw std::logic_error("a message is too long: " + message);
  }
}

int for_each_entry(const std::vector<std::string>& paths,
                   const std::function<std::vector<std::string>(const std::string&)>& check) {
  std::vector<std::string> entries;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) entries.push_back(path);
    else
      for (const auto& entry : fs::directory_iterator(path)) entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  int failed = 0;
  for (const std::string& entry : entries) {
    try {
      const TemporaryFolder folder;
      write_files(folder.path(), files_of(read_whole_file(entry)));
      const std::vector<std::string> messages = check(folder.path());
      fmt::print("{}: survived\n", entry);
      for (const std::string& message : messages) {
        fmt::print("  {}\n", message.substr(folder.path().size() + 1));
      }
    } catch (const std::exception& error) {
      fmt::print("{}: FAILED: {}\n", entry, error.what());
      ++failed;
    }
  }
  fmt::print("{} entries, {} failed\n", entries.size(), failed);
  return failed > 0 || entries.empty() ? 1 : 0;
}

}  // namespace zero
