// Takes all the memory that there is.
// rung: ends
// says: it crashed \(SIG(ABRT|KILL)\)
#include <string>
#include <vector>

void attack() noexcept {
  std::vector<std::string> all;
  for (;;) all.emplace_back(1 << 24, 'x');
}
