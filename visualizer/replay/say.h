// What a program says to people, and whether it could: no message ends the program that says it.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace zero {

// At the end of --help.
constexpr const char* kExitStatus =
    "Exit status: 0, or 1 where what is given cannot be read or written, 2 where the command is "
    "wrong.";

// To standard error; where that is closed or full, nothing happens.
inline void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

// A standard stream that is closed is opened such that its use fails: otherwise the next file that
// is opened would be it, and messages would be written into that.
inline void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    const int opened = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != stream) close(opened);
  }
}

// The exit status of `program`: 1 and a line where what it printed could not be written.
inline int finish_output(const char* program, int status) {
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (lost && status == 0) {
    say(fmt::format("{}: standard output cannot be written\n", program));
    return 1;
  }
  return status;
}

}  // namespace zero
