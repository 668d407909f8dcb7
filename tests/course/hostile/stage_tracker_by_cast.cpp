// The same with a cast of C.
// exercise: 06
// rung: compiles
// says: it calls zero::(MemoryTracker::release|Rank::tracker): what measures
#include "common/train/rank.h"

void attack(zero::Rank& rank) { ((zero::MemoryTracker&)rank.tracker()).release(1); }
