// Compares what a stage program left behind with the formulas and with the ground truth.
#include <cstdio>

int main() {
  std::fputs("stage_judge: no request\n", stderr);
  return 2;
}
