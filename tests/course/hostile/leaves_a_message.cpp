// Leaves a file for whoever is graded next.
// rung: compiles
// says: it calls f\w+: this exercise needs no files
// anyway: nothing could be left
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

void attack() {
  for (const char* path : {"/tmp/zero-steps-message", "/var/tmp/zero-steps-message",
                           "/dev/shm/zero-steps-message", "../../zero-steps-message"}) {
    if (std::fopen(path, "r") || std::fopen(path, "w")) {
      std::fprintf(stderr, "it left, or found, %s\n", path);
      std::_Exit(1);
    }
  }
  std::fputs("nothing could be left\n", stderr);
  std::_Exit(1);
}
