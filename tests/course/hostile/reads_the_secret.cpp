// Reads the secret and says it where the report is made from.
// rung: compiles
// says: it calls f\w+: this exercise needs no files
// anyway: no secret
#include <cstdio>
#include <cstdlib>

void attack() {
  char secret[100] = "no secret";
  if (std::FILE* file = std::fopen("@SECRET@", "r")) std::fgets(secret, sizeof secret, file);
  std::fprintf(stderr, "%s\n", secret);
  std::_Exit(1);
}
