// Replays entries of the corpus, or folders of them, without a fuzzer: each must be survived.
#include "tests/fuzz/check_trace.h"
#include "tests/fuzz/corpus.h"

int main(int argc, char** argv) {
  return zero::for_each_entry({argv + 1, argv + argc}, [](const std::string& directory) {
    return zero::replay::check_trace(directory);
  });
}
