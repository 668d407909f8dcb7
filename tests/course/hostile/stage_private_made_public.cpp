// Makes everything public that is not.
// exercise: 06
// rung: compiles
// says: it gives the word private another meaning|error:
#define private public
#include "common/train/rank.h"

void attack(zero::Rank& rank) { rank.trace_.close(); }
