// Looks for the references, at any place that it knows.
// rung: compiles
// says: it calls std::ifstream: this exercise needs no files
// anyway: nothing to be seen
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>

void attack() {
  for (const char* path :
       {"@PROJECT@/exercises/01_bytes/solution.cpp", "@PROJECT@/stages/zero1.cpp",
        "@PROJECT@/exercises/01_bytes/oracle.py", "@OUT@/grades.csv", "@SUBMISSIONS@/alice.cpp"}) {
    if (std::ifstream(path)) {
      std::fprintf(stderr, "it sees %s\n", path);
      std::_Exit(1);
    }
  }
  std::fputs("nothing to be seen\n", stderr);
  std::_Exit(1);
}
