// What the thread sanitizer is told to pass over, in programs whose threads use a loaded module.

// A thread's copies of a module's thread_local objects are freed by whoever gets its stack next: in
// the C library, in an order that the sanitizer does not see.
extern "C" const char* __tsan_default_suppressions() { return "race:_dl_deallocate_tls\n"; }
