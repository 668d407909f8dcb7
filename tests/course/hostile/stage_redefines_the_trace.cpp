// Puts an empty function in the place of the one that tells of memory.
// exercise: 06
// rung: compiles
// says: it defines zero::Trace::allocated\(zero::Allocation const&\), which is there already
#include "common/train/rank.h"

void zero::Trace::allocated(const Allocation&) {}

void attack(zero::Rank&) {}
