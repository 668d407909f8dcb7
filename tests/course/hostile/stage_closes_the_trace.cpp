// Ends its trace early: what happens later is not told.
// exercise: 06
// rung: compiles
// says: it calls zero::(Rank|Trace)::(trace|close): what measures
#include "common/train/rank.h"

void attack(zero::Rank& rank) { rank.trace().close(); }
