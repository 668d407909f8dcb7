// Puts its own function where memory comes from.
// rung: compiles
// says: it defines operator new\(unsigned long\)
#include <cstdlib>
#include <new>

void* operator new(std::size_t size) { return std::malloc(size + 1); }

void attack() {}
