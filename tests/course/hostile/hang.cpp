// Never returns.
// rung: ends
// says: it did not end within
void attack() {
  for (volatile int i = 0;; i = i + 1) {
  }
}
