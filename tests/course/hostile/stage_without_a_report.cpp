// Ends with success before anything is reported.
// exercise: 06
// rung: ends
// says: ended without the (trace|result|state)
#include <cstdlib>

#include "common/train/rank.h"

void attack(zero::Rank&) { std::_Exit(0); }
