// Where the threads of a block meet: barriers, votes and shuffles.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace zero::emulator {

// The place in the source of a call, for the message when some thread never comes. What
// std::source_location is made of, which clang 14 lacks.
struct Where {
  const char* file = "";
  int line = 0;

  static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// All threads of the block; returns for how many of them the predicate is true.
int meet_block(bool predicate, Where where);
// The lanes of a warp whose bit is set in `lanes`.
void meet_warp(unsigned lanes, Where where);
unsigned vote(unsigned lanes, bool predicate, Where where);  // one bit for each lane
// Each lane gives a value and gets that of `source`, which must be one of `lanes`.
std::uint64_t exchange(unsigned lanes, std::uint64_t value, int source, Where where);
int lane();  // of the calling thread: 0, ..., 31
int threads_in_block();

template <class T>
T shuffle(unsigned lanes, T value, int source, Where where) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = exchange(lanes, bits, source, where);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// A warp is cut into segments of `width` lanes; who would read outside its own reads itself.
inline int segment(int width) { return lane() & ~(width - 1); }
inline int inside(int source, int width) {
  return source >= segment(width) && source < segment(width) + width ? source : lane();
}

}  // namespace zero::emulator

inline void __syncthreads(zero::emulator::Where where = zero::emulator::Where::here()) {
  zero::emulator::meet_block(false, where);
}
inline int __syncthreads_count(int predicate,
                               zero::emulator::Where where = zero::emulator::Where::here()) {
  return zero::emulator::meet_block(predicate != 0, where);
}
inline int __syncthreads_or(int predicate,
                            zero::emulator::Where where = zero::emulator::Where::here()) {
  return zero::emulator::meet_block(predicate != 0, where) > 0 ? 1 : 0;
}
inline int __syncthreads_and(int predicate,
                             zero::emulator::Where where = zero::emulator::Where::here()) {
  const int count = zero::emulator::meet_block(predicate != 0, where);
  return count == zero::emulator::threads_in_block() ? 1 : 0;
}
inline void __syncwarp(unsigned lanes = 0xffffffffu,
                       zero::emulator::Where where = zero::emulator::Where::here()) {
  zero::emulator::meet_warp(lanes, where);
}

template <class T>
T __shfl_sync(unsigned lanes, T value, int source, int width = 32,
              zero::emulator::Where where = zero::emulator::Where::here()) {
  const int from = zero::emulator::segment(width) + (source & (width - 1));
  return zero::emulator::shuffle(lanes, value, from, where);
}
template <class T>
T __shfl_xor_sync(unsigned lanes, T value, int flip, int width = 32,
                  zero::emulator::Where where = zero::emulator::Where::here()) {
  const int source = zero::emulator::lane() ^ flip;
  // Lower segments may be read, later ones not: so says CUDA.
  const bool later = source >= zero::emulator::segment(width) + width;
  return zero::emulator::shuffle(lanes, value, later ? zero::emulator::lane() : source, where);
}
template <class T>
T __shfl_down_sync(unsigned lanes, T value, unsigned by, int width = 32,
                   zero::emulator::Where where = zero::emulator::Where::here()) {
  const int source = zero::emulator::lane() + static_cast<int>(by);
  return zero::emulator::shuffle(lanes, value, zero::emulator::inside(source, width), where);
}
template <class T>
T __shfl_up_sync(unsigned lanes, T value, unsigned by, int width = 32,
                 zero::emulator::Where where = zero::emulator::Where::here()) {
  const int source = zero::emulator::lane() - static_cast<int>(by);
  return zero::emulator::shuffle(lanes, value, zero::emulator::inside(source, width), where);
}

inline unsigned __ballot_sync(unsigned lanes, int predicate,
                              zero::emulator::Where where = zero::emulator::Where::here()) {
  return zero::emulator::vote(lanes, predicate != 0, where);
}
inline int __any_sync(unsigned lanes, int predicate,
                      zero::emulator::Where where = zero::emulator::Where::here()) {
  return zero::emulator::vote(lanes, predicate != 0, where) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned lanes, int predicate,
                      zero::emulator::Where where = zero::emulator::Where::here()) {
  return zero::emulator::vote(lanes, predicate == 0, where) == 0 ? 1 : 0;
}
