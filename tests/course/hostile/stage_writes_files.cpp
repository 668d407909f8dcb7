// Writes the result with the project's own function.
// exercise: 06
// rung: compiles
// says: it calls zero::write_file, which this exercise does without
#include "common/train/rank.h"
#include "common/train/report.h"

void attack(zero::Rank&) { zero::write_file("result.json", "{\"passed\": true}"); }
