// Makes a system call without the C library's help.
// rung: compiles
// says: it uses asm: an answer is C\+\+ without assembly
void attack() { asm volatile("syscall" : : "a"(39L) : "rcx", "r11", "memory"); }
