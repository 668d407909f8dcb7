// A counter-based generator: the number at a position depends on the seed and the position only.
#pragma once

#include <cstdint>
#include <span>

namespace zero {

// 64 random bits for (seed, counter): SplitMix64 (Steele, Lea and Flood 2014), whose state after
// n steps can be written down without taking them.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter);

// A standard normal number for (seed, position), by the method of Box and Muller (1958). Uses +, -,
// *, / and the square root of fp64 only, which IEEE 754 defines to the last bit: the same bits on
// every machine and in numpy. (The logarithms of two C libraries differ.)
double standard_normal(std::uint64_t seed, std::int64_t position);

// to[i] = deviation * standard_normal(seed, position + i), rounded once to fp32.
void normal_numbers(std::uint64_t seed, std::int64_t position, float deviation,
                    std::span<float> to);

}  // namespace zero
