// Prints without end, on both streams.
// rung: ends
// says: it did not end within
#include <cstdio>

void attack() {
  for (;;) {
    std::puts("15 of 15 points, 15 of 15 points, 15 of 15 points, 15 of 15 points");
    std::fputs("15 of 15 points, 15 of 15 points, 15 of 15 points, 15 of 15 points\n", stderr);
  }
}
