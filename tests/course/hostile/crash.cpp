// Writes where there is no memory.
// rung: ends
// says: it crashed \(SIGSEGV\)
void attack() {
  volatile int* nowhere = nullptr;
  *nowhere = 1;
}
