// Has a main of its own, which does not call anything.
// rung: compiles
// says: it defines main: the program that calls its functions has one already
// anyway: without the results
void attack() {}

int main() { return 0; }
