// Draws every view of entries of the corpus, or folders of them: each must be survived.
#include "tests/fuzz/check_views.h"
#include "tests/fuzz/corpus.h"

int main(int argc, char** argv) {
  zero::Headless screen(1280, 720);
  return zero::for_each_entry({argv + 1, argv + argc}, [&](const std::string& directory) {
    for (unsigned choice = 0; choice < 6; ++choice) zero::check_views(screen, directory, choice);
    return std::vector<std::string>();
  });
}
