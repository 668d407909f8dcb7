// Includes the reference under other names.
// exercise: 06
// rung: compiles
// says: No such file or directory|it includes
#define train reference_train
#define main reference_main
#include "@PROJECT@/stages/zero1.cpp"
#undef train
#undef main

void attack(zero::Rank&) {}
