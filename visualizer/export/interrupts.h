// Ctrl-C and its like while files are written: held back, and looked at between frames.
#pragma once

#include <csignal>

namespace zero {

// The wish that this program ends. Not a std::exception, so that nothing takes it for a failure.
struct Interrupted {
  int signal;
};

// While it lives, SIGINT, SIGTERM, SIGHUP and SIGQUIT wait until somebody looks, so that nothing is
// left behind; those that are ignored stay so. Requires that there is no other thread.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Throws Interrupted when one has arrived.
  void look() const;

 private:
  sigset_t held_, original_;
};

// Ends the program by that signal, as it would have ended without Interrupts.
[[noreturn]] void end_by(int signal);

}  // namespace zero
