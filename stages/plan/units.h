// Numbers as plan prints them: each with its unit.
#pragma once

#include <cstdint>
#include <string>

namespace zero {

// Powers of 1,000: "80.00 GB", "1.50 MB", "512 B"; from 10^15 on still in TB.
std::string decimal_bytes(std::int64_t bytes);
// Powers of 1,024: "74.51 GiB".
std::string binary_bytes(std::int64_t bytes);
// In GB (10^9) whatever the size, as in the ZeRO paper: "0.12 GB".
std::string gigabytes(std::int64_t bytes);

// "7.50B", "124.4M", "1.000T", "12,362".
std::string parameters_text(std::int64_t number);

// "300B", "1.5T", "4096": a round number, as people write it.
std::string round_text(double number);

// "812 us", "13.5 ms", "1.25 s"; from two minutes on "5.4 min", "3.2 h",
// "140 days", "27.4 years".
std::string duration_text(double seconds);

// "1,234", "12.3 million": of tokens per second.
std::string rate_text(double per_second);

// "7.5e9", "7.5B", "124M", "1T", "1000". Throws std::invalid_argument: not a whole number from 1
// to 10^15.
std::int64_t parse_count(const std::string& text);

}  // namespace zero
