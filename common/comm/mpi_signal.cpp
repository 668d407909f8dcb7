// A rank that is ended by SIGTERM says which collective it was in, and for whom it waited.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>

#include "common/comm/mpi.h"

namespace zero {
namespace {

// A signal handler can reach nothing but objects of static storage, and may call nothing that
// allocates or locks: the text is prepared beforehand, the handler only writes it.
struct Text {
  std::array<char, 256> bytes;
  std::size_t size = 0;

  void set(const std::string& text) {
    size = std::min(text.size(), bytes.size());
    text.copy(bytes.data(), size);
    if (size == bytes.size()) bytes.back() = '\n';
  }
};
Text computing_text;
Text waiting_text;
volatile std::sig_atomic_t is_waiting = 0;

void on_sigterm(int) {
  const Text& text = is_waiting ? waiting_text : computing_text;
  // Nothing can be done about a failed write here.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.bytes.data(), text.size);
  _exit(1);
}

}  // namespace

void handle_sigterm(int rank) {
  computing_text.set(fmt::format("rank {}: ended by a signal outside any collective\n", rank));
  struct sigaction action {};
  action.sa_handler = on_sigterm;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
}

void release_sigterm() { std::signal(SIGTERM, SIG_DFL); }

Waiting::Waiting(int rank, const std::string& what) {
  waiting_text.set(fmt::format("rank {}: ended by a signal in {}\n", rank, what));
  std::atomic_signal_fence(std::memory_order_seq_cst);
  is_waiting = 1;
}

Waiting::~Waiting() {
  is_waiting = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace zero
