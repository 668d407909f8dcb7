// Fills the disk.
// rung: compiles
// says: it calls f\w+: this exercise needs no files
// anyway: SIGXFSZ|it did not end within
#include <cstdio>
#include <vector>

void attack() {
  const std::vector<char> block(1 << 24, 'x');
  std::FILE* file = std::fopen("huge", "w");
  for (;;) std::fwrite(block.data(), 1, block.size(), file);
}
