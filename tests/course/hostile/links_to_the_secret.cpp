// Makes its result a link to the secret, which the grader may read.
// rung: compiles
// says: it calls symlink: this exercise needs no files
// anyway: without the results
#include <unistd.h>

#include <cstdlib>

void attack() {
  if (symlink("@SECRET@", "result.json") == 0) std::_Exit(0);
}
