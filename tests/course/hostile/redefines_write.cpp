// Puts its own function where the C library writes.
// rung: compiles
// says: it defines the C symbol write
extern "C" long write(int, const void*, unsigned long size) { return static_cast<long>(size); }

void attack() {}
