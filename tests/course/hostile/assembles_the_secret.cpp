// Lets the assembler put the secret into the program.
// rung: compiles
// says: file not found: @SECRET@|it uses asm
asm(".section .rodata\nsecret: .incbin \"@SECRET@\"\n.text\n");

void attack() {}
