// Writes a result that is too large to read.
// rung: compiles
// says: it calls f\w+: this exercise needs no files
// anyway: without the results
#include <cstdio>
#include <cstdlib>
#include <vector>

void attack() {
  const std::vector<char> block(1 << 20, '[');
  std::FILE* file = std::fopen("result.json", "w");
  for (int i = 0; i < 20; ++i) std::fwrite(block.data(), 1, block.size(), file);
  std::fclose(file);
  std::_Exit(0);
}
