#include "visualizer/export/interrupts.h"

#include <unistd.h>

namespace zero {
namespace {

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

}  // namespace

Interrupts::Interrupts() {
  sigemptyset(&held_);
  for (const int signal : kEnding) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&held_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &held_, &original_);
}

Interrupts::~Interrupts() { pthread_sigmask(SIG_SETMASK, &original_, nullptr); }

void Interrupts::look() const {
  sigset_t pending;
  sigpending(&pending);
  for (const int signal : kEnding) {
    if (sigismember(&held_, signal) != 1 || sigismember(&pending, signal) != 1) continue;
    int taken = signal;
    sigwait(&held_, &taken);
    throw Interrupted{taken};
  }
}

void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  raise(signal);
  _exit(128 + signal);  // only where the signal is held back from outside
}

}  // namespace zero
