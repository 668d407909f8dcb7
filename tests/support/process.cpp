// Running a program as a child process: its output goes to unnamed files, which are read at its
// end.
#include "tests/support/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace zero {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File temporary_file() {
  File file(std::tmpfile(), &std::fclose);
  if (!file) throw std::runtime_error("cannot create a temporary file");
  return file;
}

std::string content(std::FILE* file) {
  std::string text;
  std::rewind(file);
  std::array<char, 4096> part;
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), file))
    text.append(part.data(), size);
  return text;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string name = std::string(*entry).substr(0, std::strcspn(*entry, "="));
    if (!added.contains(name)) result.emplace_back(*entry);
  }
  for (const auto& [name, value] : added) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::vector<std::string> Finished::errors() const {
  std::vector<std::string> lines;
  std::istringstream stream(err);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string Finished::describe() const {
  return command + "\n-> status " + std::to_string(status) + (timed_out ? ", timed out" : "") +
         "\n" + out + err;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Finished run(const std::vector<std::string>& command, const RunOptions& options) {
  Finished result;
  for (const std::string& word : command) result.command += word + " ";
  const File out = temporary_file(), err = temporary_file();

  // A process group of its own, so that its children can be killed with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(out.get()), 1);
  posix_spawn_file_actions_adddup2(&actions, fileno(err.get()), 2);
  if (!options.directory.empty())
    posix_spawn_file_actions_addchdir_np(&actions, options.directory.c_str());
  std::vector<std::string> words = command, environment = environment_with(options.environment);
  pid_t child = 0;
  const int error = posix_spawnp(&child, words.at(0).c_str(), &actions, &attributes,
                                 pointers(words).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw std::runtime_error("cannot start " + result.command + ": " + std::strerror(error));
  }

  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
  int ended = 0;
  while (waitpid(child, &ended, WNOHANG) == 0) {
    if (!result.timed_out && std::chrono::steady_clock::now() > deadline) {
      result.timed_out = true;
      kill(-child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  result.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
  result.out = content(out.get());
  result.err = content(err.get());
  return result;
}

}  // namespace zero
