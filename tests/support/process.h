// Running a program as a child process: its output, its exit status, and never longer than allowed.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace zero {

struct Finished {
  int status = -1;  // exit status; 128 + signal when a signal ended it
  bool timed_out = false;
  std::string out, err;

  // Lines of standard error.
  std::vector<std::string> errors() const;
  // For INFO: the command, how it ended, and what it wrote.
  std::string describe() const;

  std::string command;
};

struct RunOptions {
  double seconds = 60;                             // then the child and its children are killed
  std::string directory;                           // to run in; empty: this process's
  std::map<std::string, std::string> environment;  // added to this process's
};

// The words between the spaces of a command line.
std::vector<std::string> words_of(const std::string& line);

// Runs command[0] (searched in PATH) with nothing on its standard input, and waits for its end.
// Throws std::runtime_error when it cannot be started.
Finished run(const std::vector<std::string>& command, const RunOptions& options = {});

}  // namespace zero
