// Kills every process that it may: the grader, too, if it could.
// rung: compiles
// says: it calls (kill|getppid): this exercise needs no other processes
// anyway: it ended with status 1
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

void attack() {
  kill(getppid(), SIGKILL);
  kill(-1, SIGKILL);
  std::_Exit(1);
}
