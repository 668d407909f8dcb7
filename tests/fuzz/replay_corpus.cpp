// Replays entries of the corpus, or folders of them, without a fuzzer: each must be survived.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/check_trace.h"
#include "tests/support/files.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) paths.emplace_back(argv[i]);
    else
      for (const auto& entry : fs::directory_iterator(argv[i])) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  int failed = 0;
  for (const std::string& path : paths) {
    try {
      const zero::TemporaryFolder folder;
      zero::replay::write_files(folder.path(), zero::replay::files_of(zero::read_whole_file(path)));
      const auto messages = zero::replay::check_trace(folder.path());
      fmt::print("{}: {} message{}\n", path, messages.size(), messages.size() == 1 ? "" : "s");
      for (const std::string& message : messages) {
        fmt::print("  {}\n", message.substr(folder.path().size() + 1));
      }
    } catch (const std::exception& error) {
      fmt::print("{}: FAILED: {}\n", path, error.what());
      ++failed;
    }
  }
  fmt::print("{} entries, {} failed\n", paths.size(), failed);
  return failed > 0 || paths.empty() ? 1 : 0;
}
