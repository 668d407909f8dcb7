// One child process at a time, its output read line by line, ended when this program is.
#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace zero {

// How a program ended.
struct Finished {
  int status = 0;      // exit status, or 128 + signal, as a shell says it
  std::string errors;  // all that it wrote to standard error
  double seconds = 0;
};

// Ctrl-C, or another wish that this program ends; the child has been ended already.
// Not a std::exception, so that nothing on the way takes it for a failed stage.
struct Interrupted {
  int signal;
};

// While it lives, the signals that would end this program (Ctrl-C, SIGTERM, SIGHUP, SIGQUIT, and
// SIGPIPE: nobody reads what it prints) are held back and looked at between reads, so that no child
// is left behind. Construct one, before any thread is started.
class ProcessRunner {
 public:
  ProcessRunner();
  ~ProcessRunner();
  ProcessRunner(const ProcessRunner&) = delete;
  ProcessRunner& operator=(const ProcessRunner&) = delete;

  // Runs command[0] (found in PATH when it names no folder) without a shell and with nothing to
  // read. `on_line` gets each line of its standard output, without its end. A program that cannot
  // be started has status 127, and the reason in `errors`. Throws Interrupted.
  Finished run(const std::vector<std::string>& command,
               const std::function<void(std::string_view)>& on_line) const;

 private:
  sigset_t ending_;    // the signals that end this program
  sigset_t original_;  // what was held back before
};

// As it would be typed into a shell.
std::string as_typed(const std::vector<std::string>& command);

}  // namespace zero
