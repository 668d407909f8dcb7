// Takes the tracker, which is constant, and changes it.
// exercise: 06
// rung: compiles
// says: it uses const_cast
#include "common/train/rank.h"

void attack(zero::Rank& rank) { const_cast<zero::MemoryTracker&>(rank.tracker()).release(1); }
