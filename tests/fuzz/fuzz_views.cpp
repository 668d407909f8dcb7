// The second fuzz target: the same bytes, seen.
#include <unistd.h>

#include <cstdint>
#include <filesystem>

#include "tests/fuzz/check_views.h"
#include "tests/fuzz/corpus.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string directory =
      (std::filesystem::temp_directory_path() / ("fuzz_views" + std::to_string(getpid()))).string();
  static zero::Headless screen(1280, 720);
  std::filesystem::create_directories(directory);
  zero::write_files(directory, zero::files_of({reinterpret_cast<const char*>(data), size}));
  unsigned choice = 0;
  for (std::size_t i = 0; i < size; ++i) choice = choice * 31 + data[i];
  zero::check_views(screen, directory, choice);
  return 0;
}
