// The first fuzz target: bytes are the files of some ranks, and whatever they say must be survived.
#include <unistd.h>

#include <cstdint>
#include <filesystem>

#include "tests/fuzz/check_trace.h"
#include "tests/fuzz/corpus.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Where TMPDIR says: a folder in memory is much quicker.
  static const std::string directory =
      (std::filesystem::temp_directory_path() / ("fuzz_trace" + std::to_string(getpid()))).string();
  std::filesystem::create_directories(directory);
  zero::write_files(directory, zero::files_of({reinterpret_cast<const char*>(data), size}));
  zero::replay::check_trace(directory,
                            size % 4 == 0);  // the slow half of it for some of the inputs
  return 0;
}
