// One child process at a time: posix_spawn, two pipes, and its own process group.
#include "stages/compare/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>

extern char** environ;

namespace zero {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPollMilliseconds = 50;
constexpr std::chrono::seconds kGrace(5);  // from Ctrl-C until the child is killed
// What ends a program that is told to, or whose reader has gone (SIGPIPE: "compare | head -1").
constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

// A pipe; both ends are closed at the latest here, and in every child but the one it is made for.
struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    read_end = ends[0];
    write_end = ends[1];
    for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
    fcntl(read_end, F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close_write();
    close(read_end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_write() {
    if (write_end >= 0) close(write_end);
    write_end = -1;
  }
  // Appends all there is; false at the end of the stream.
  bool drain(std::string& text) const {
    std::array<char, 4096> block;
    while (true) {
      const ssize_t got = read(read_end, block.data(), block.size());
      if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
      if (got == 0) return false;
      if (got < 0 && errno != EINTR) return errno == EAGAIN || errno == EWOULDBLOCK;
    }
  }
  int read_end = -1;
  int write_end = -1;
};

// Returns 0 or the error; `child` leads a process group of its own, so that Ctrl-C reaches it once,
// from here, and so that whatever it starts can be ended with it.
int spawn(const std::vector<std::string>& command, const Pipe& out, const Pipe& err,
          const sigset_t& mask, const sigset_t& defaults, pid_t& child) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.write_end, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int error = posix_spawnp(&child, argv[0], &files, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// Which of `signals` has arrived, or 0.
int arrived(const sigset_t& signals) {
  sigset_t pending;
  sigpending(&pending);
  for (const int signal : kEnding) {
    if (sigismember(&pending, signal) != 1) continue;
    int taken = 0;
    sigwait(&signals, &taken);
    return taken;
  }
  return 0;
}

// Asks the whole group to end, and ends it after a while.
void end(pid_t child) {
  kill(-child, SIGINT);
  const auto asked = Clock::now();
  while (waitpid(child, nullptr, WNOHANG) == 0) {
    if (Clock::now() - asked > kGrace) {
      kill(-child, SIGKILL);
      waitpid(child, nullptr, 0);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(-child, SIGKILL);  // whatever the child itself has left behind
}

// Hands on the whole lines of `text` and keeps the rest.
void hand_on(std::string& text, const std::function<void(std::string_view)>& on_line) {
  std::size_t from = 0;
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', from)) {
    on_line(std::string_view(text).substr(from, at - from));
    from = at + 1;
  }
  text.erase(0, from);
}

}  // namespace

ProcessRunner::ProcessRunner() {
  sigemptyset(&ending_);
  for (const int signal : kEnding) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&ending_, signal);  // nohup stays in force
  }
  pthread_sigmask(SIG_BLOCK, &ending_, &original_);
}

ProcessRunner::~ProcessRunner() { pthread_sigmask(SIG_SETMASK, &original_, nullptr); }

Finished ProcessRunner::run(const std::vector<std::string>& command,
                            const std::function<void(std::string_view)>& on_line) const {
  if (const int signal = arrived(ending_)) throw Interrupted{signal};
  const auto started = Clock::now();
  Pipe out, err;
  Finished finished;
  pid_t child = 0;
  if (const int error = spawn(command, out, err, original_, ending_, child)) {
    finished.status = 127;
    finished.errors = fmt::format("{}: {}", command.front(), std::strerror(error));
    return finished;
  }
  out.close_write();
  err.close_write();

  std::string lines;
  int status = 0;
  bool ended = false;
  bool open_out = true, open_err = true;
  while (!ended) {
    std::array<pollfd, 2> ends = {
        {{open_out ? out.read_end : -1, POLLIN, 0}, {open_err ? err.read_end : -1, POLLIN, 0}}};
    // Once it has closed both, it is about to end.
    poll(ends.data(), ends.size(), open_out || open_err ? kPollMilliseconds : 1);
    if (const int signal = arrived(ending_)) {
      end(child);
      throw Interrupted{signal};
    }
    // Waited for before the last read, and not for the end of the streams: a grandchild may keep
    // them open for ever.
    ended = waitpid(child, &status, WNOHANG) == child;
    if (open_out) open_out = out.drain(lines);
    if (open_err) open_err = err.drain(finished.errors);
    hand_on(lines, on_line);
  }
  if (!lines.empty()) on_line(lines);
  finished.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  finished.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  return finished;
}

std::string as_typed(const std::vector<std::string>& command) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
  std::string text;
  for (const std::string& word : command) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

}  // namespace zero
