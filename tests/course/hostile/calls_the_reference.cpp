// Declares a function that a grader might have, and calls it.
// rung: compiles
// says: it calls zero::exercise::expected, which this exercise does without
// anyway: undefined reference
namespace zero::exercise {
long expected(const char* instance);
}

void attack() { zero::exercise::expected("instance.json"); }
