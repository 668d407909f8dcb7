// Where the ranks of a communicator meet: shared memory with a pipe for each pair, so that ranks
// may be threads of one process or processes of one machine.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace zero::emulator {

inline constexpr int kMostRanks = 16;
inline constexpr std::size_t kPipe = 32 * 1024;

// Bytes on their way from one rank to another, in order.
struct Pipe {
  // What fits, or what is there, at most `size` bytes; returns how many.
  std::size_t write(const std::byte* from, std::size_t size);
  std::size_t read(std::byte* to, std::size_t size);

 private:
  alignas(64) std::atomic<std::uint64_t> written_;
  alignas(64) std::atomic<std::uint64_t> read_;
  std::byte bytes_[kPipe];
};

// Begins as zeros.
struct Board {
  std::atomic<int> joined;     // ranks that have come,
  std::atomic<int> finalized;  // and that have said they are done
  std::atomic<int> world_size;
  std::atomic<bool> present[kMostRanks];
  char gpu[kMostRanks][32];  // each rank's bus id, written before `present`
  Pipe pipes[kMostRanks * kMostRanks];

  Pipe& pipe(int from, int to) { return pipes[from * kMostRanks + to]; }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "works between processes only so");

// A new board's name, for the others to find it by. Throws std::runtime_error.
std::string create_board();
// Null when there is none of this name.
Board* open_board(const std::string& name);
void close_board(Board* board);
// Nobody finds it any more; it is gone when the last rank has closed it. Twice is harmless.
void forget_board(const std::string& name);

}  // namespace zero::emulator
