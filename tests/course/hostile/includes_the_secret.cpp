// Lets the compiler read the secret.
// rung: compiles
// says: No such file or directory|Permission denied
#include "@SECRET@"

void attack() {}
