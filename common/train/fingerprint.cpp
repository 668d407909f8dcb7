// Hashing a state, element by element.
#include "common/train/fingerprint.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/memory/heap.h"

namespace zero {
namespace {

constexpr std::int64_t kChunk = 4096;  // elements on the stack at a time

// The fingerprint of a state, for whoever computes it again (tests/fingerprint.py does): the sum,
// modulo 2^64, of hash(state, position, bits) over
//   - exp_avg, exp_avg_sq, master (the fp32 parameters themselves with --dtype fp32), parameters,
//     numbered 1 to 4 in this order;
//   - every position below N in the flat vector, each once, however many ranks hold it;
// `bits` are the element's own bits in its type, as an unsigned number. All arithmetic is modulo
// 2^64. The constants are odd; the shifts and multiplications are those of a 64-bit finaliser.
std::uint64_t hash(std::uint64_t state, std::uint64_t position, std::uint64_t bits) {
  std::uint64_t x = (position * 8 + state) * 0x9e3779b97f4a7c15u + bits * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 29)) * 0x9e3779b97f4a7c15u;
  return x ^ (x >> 32);
}

template <class Bits>
std::uint64_t sum_of_hashes(const std::byte* data, State state, Range range) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < range.size(); ++i) {
    Bits bits;
    std::memcpy(&bits, data + i * static_cast<std::int64_t>(sizeof(Bits)), sizeof(Bits));
    sum +=
        hash(static_cast<std::uint64_t>(state), static_cast<std::uint64_t>(range.begin + i), bits);
  }
  return sum;
}

}  // namespace

std::uint64_t fingerprint(View view, State state, std::int64_t end) {
  std::array<std::byte, kChunk * 4> host;
  std::uint64_t sum = 0;
  if (view.data() == nullptr) return sum;
  const Range range = view.range().intersect({0, std::max(end, view.range().begin)});
  for (std::int64_t begin = range.begin; begin < range.end; begin += kChunk) {
    const Range chunk{begin, std::min(begin + kChunk, range.end)};
    const std::int64_t width = bytes_of(view.dtype());
    view.heap().download(view[chunk],
                         std::span(host).first(static_cast<std::size_t>(chunk.size() * width)));
    sum += width == 2 ? sum_of_hashes<std::uint16_t>(host.data(), state, chunk)
                      : sum_of_hashes<std::uint32_t>(host.data(), state, chunk);
  }
  return sum;
}

}  // namespace zero
