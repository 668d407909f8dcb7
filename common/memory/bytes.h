// Numbers of bytes as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zero {

// "4,096 B", "1.50 MiB (1,572,864 B)": exact bytes always, with a readable unit from 1 MiB on.
std::string format_bytes(std::int64_t bytes);

// "1,572,864".
std::string with_commas(std::int64_t number);

// "64MiB", "1.5GiB", "80GB", "4096" (bytes); KiB, MiB, GiB, TiB are powers of 1,024, KB, MB, GB,
// TB of 1,000. Throws std::invalid_argument otherwise.
std::int64_t parse_bytes(std::string_view text);

}  // namespace zero
