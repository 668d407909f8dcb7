// The fuzz target: bytes are the files of some ranks, and whatever they say must be survived.
#include <unistd.h>

#include <cstdint>
#include <filesystem>

#include "tests/fuzz/check_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zero::replay;
  // Where TMPDIR says: a folder in memory is much quicker.
  static const std::string directory =
      (std::filesystem::temp_directory_path() / ("fuzz_trace" + std::to_string(getpid()))).string();
  std::filesystem::create_directories(directory);
  write_files(directory, files_of({reinterpret_cast<const char*>(data), size}));
  check_trace(directory, size % 4 == 0);  // the slow half of it for some of the inputs
  return 0;
}
