// Ends the program with success before there is a result.
// rung: ends
// says: without the results
#include <cstdlib>

void attack() { std::exit(0); }
