#include "visualizer/export/mp4.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

extern char** environ;

namespace zero {
namespace {

constexpr int kLook = 20;  // milliseconds between looks at what has happened meanwhile

}  // namespace

Mp4::Mp4(const std::string& path, int width, int height, int frames_per_second,
         const Interrupts& interrupts)
    : interrupts_(interrupts) {
  const std::vector<std::string> words = {
      "ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y",
      // what comes in
      "-f", "rawvideo", "-pix_fmt", "rgba", "-video_size", fmt::format("{}x{}", width, height),
      "-framerate", fmt::format("{}", frames_per_second), "-i", "pipe:0",
      // what goes out: such that every player, and every slide, can show it
      "-an", "-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-c:v", "libx264", "-preset", "medium",
      "-crf", "18", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4",
      // a path that begins with - is no option
      path.starts_with('/') ? path : "./" + path};
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  // Sockets, not pipes: writing to one that nobody reads is an error, and no signal.
  int in[2] = {-1, -1}, out[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0) {
    throw std::runtime_error(std::string("socketpair: ") + std::strerror(errno));
  }
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out) != 0) {
    const int error = errno;
    close(in[0]);
    close(in[1]);
    throw std::runtime_error(std::string("socketpair: ") + std::strerror(error));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[1], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, out[1], 2);
  // In a process group of its own, so that Ctrl-C reaches it by our hand only; nothing held back.
  sigset_t nothing;
  sigemptyset(&nothing);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &nothing);
  const int error =
      posix_spawnp(&ffmpeg_, "ffmpeg", &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(in[1]);
  close(out[1]);
  frames_ = in[0];
  words_ = out[0];
  if (error != 0) {
    close(frames_);
    close(words_);
    throw std::runtime_error(
        error == ENOENT ? "MP4 needs the program ffmpeg, which is not there; a name that ends in "
                          ".gif does without"
                        : fmt::format("ffmpeg: {}", std::strerror(error)));
  }
}

Mp4::~Mp4() {
  if (frames_ >= 0) close(frames_);
  if (ffmpeg_ > 0) {
    kill(ffmpeg_, SIGKILL);
    while (waitpid(ffmpeg_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (words_ >= 0) close(words_);
}

int Mp4::wait_for_it() {
  int status = 0;
  while (waitpid(ffmpeg_, &status, WNOHANG) == 0) {
    interrupts_.look();
    std::this_thread::sleep_for(std::chrono::milliseconds(kLook));
  }
  ffmpeg_ = -1;
  return status;
}

// With the last line that ffmpeg says, which is why.
void Mp4::fail() {
  std::string said;
  char some[4096];
  ssize_t n = 0;
  while ((n = read(words_, some, sizeof some)) > 0) said.append(some, static_cast<std::size_t>(n));
  while (!said.empty() && said.back() == '\n') said.pop_back();
  const std::size_t line = said.rfind('\n');
  if (line != std::string::npos) said.erase(0, line + 1);
  throw std::runtime_error("ffmpeg: " + (said.empty() ? "failed" : said));
}

void Mp4::add(const Image& frame) {
  const std::uint8_t* at = frame.rgba.data();
  std::size_t left = frame.rgba.size();
  while (left > 0) {
    interrupts_.look();
    const ssize_t sent = send(frames_, at, left, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd room = {frames_, POLLOUT, 0};
      poll(&room, 1, kLook);
      continue;
    }
    if (sent <= 0) fail();
    at += sent;
    left -= static_cast<std::size_t>(sent);
  }
}

void Mp4::finish() {
  close(frames_);
  frames_ = -1;
  if (wait_for_it() != 0) fail();
}

}  // namespace zero
