// Shared memory, and pipes in it.
#include "nccl_board.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace zero::emulator {

std::size_t Pipe::write(const std::byte* from, std::size_t size) {
  const std::uint64_t begin = written_.load(std::memory_order_relaxed);
  const std::uint64_t room = kPipe - (begin - read_.load(std::memory_order_acquire));
  const std::size_t count = std::min<std::size_t>(size, room);
  const std::size_t place = begin % kPipe;
  const std::size_t until_end = std::min(count, kPipe - place);
  std::memcpy(bytes_ + place, from, until_end);
  std::memcpy(bytes_, from + until_end, count - until_end);
  written_.store(begin + count, std::memory_order_release);
  return count;
}

std::size_t Pipe::read(std::byte* to, std::size_t size) {
  const std::uint64_t begin = read_.load(std::memory_order_relaxed);
  const std::uint64_t there = written_.load(std::memory_order_acquire) - begin;
  const std::size_t count = std::min<std::size_t>(size, there);
  const std::size_t place = begin % kPipe;
  const std::size_t until_end = std::min(count, kPipe - place);
  std::memcpy(to, bytes_ + place, until_end);
  std::memcpy(to + until_end, bytes_, count - until_end);
  read_.store(begin + count, std::memory_order_release);
  return count;
}

namespace {

// Removes what processes have left that were killed before they could.
void remove_orphans() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
    int pid = 0;
    const std::string name = entry.path().filename().string();
    if (std::sscanf(name.c_str(), "zero_emulated_nccl_%d_", &pid) != 1) continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) shm_unlink(("/" + name).c_str());
  }
}

}  // namespace

std::string create_board() {
  static std::atomic<int> boards = 0;
  remove_orphans();
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  std::string name = "/zero_emulated_nccl_" + std::to_string(getpid()) + "_" +
                     std::to_string(++boards) + "_" + std::to_string(now);
  const int file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0 || ftruncate(file, sizeof(Board)) != 0) {
    throw std::runtime_error("no shared memory: " + std::string(std::strerror(errno)));
  }
  close(file);
  return name;
}

Board* open_board(const std::string& name) {
  const int file = shm_open(name.c_str(), O_RDWR, 0);
  if (file < 0) return nullptr;
  void* const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<Board*>(memory);
}

void close_board(Board* board) { munmap(board, sizeof(Board)); }

void forget_board(const std::string& name) { shm_unlink(name.c_str()); }

}  // namespace zero::emulator
