// Leaves a process behind that has left its group, its session and its parent.
// rung: compiles
// says: it calls (fork|setsid): this exercise needs no other processes
// anyway: it ended with status 1
#include <unistd.h>

#include <cstdlib>

void attack() {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) sleep(600);
    std::_Exit(0);
  }
  std::_Exit(1);
}
