// Includes the reference, which is somewhere on the machine.
// rung: compiles
// says: No such file or directory|Permission denied|it includes
#include "@PROJECT@/exercises/01_bytes/solution.cpp"

void attack() {}
