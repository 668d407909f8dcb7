// Numbers of bytes as people write and read them.
#include "common/memory/bytes.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace zero {

std::string with_commas(std::int64_t number) {
  const std::string digits = std::to_string(number < 0 ? -number : number);
  std::string text = number < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<std::pair<const char*, int>, 3> kUnits = {
      {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}}};
  for (const auto& [name, shift] : kUnits) {
    if (bytes >= std::int64_t{1} << shift) {
      return fmt::format("{:.2f} {} ({} B)", std::ldexp(static_cast<double>(bytes), -shift), name,
                         with_commas(bytes));
    }
  }
  return with_commas(bytes) + " B";
}

std::int64_t parse_bytes(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 10> kUnits = {{{"KiB", 0x1p10},
                                                                           {"MiB", 0x1p20},
                                                                           {"GiB", 0x1p30},
                                                                           {"TiB", 0x1p40},
                                                                           {"KB", 1e3},
                                                                           {"MB", 1e6},
                                                                           {"GB", 1e9},
                                                                           {"TB", 1e12},
                                                                           {"B", 1.0},
                                                                           {"", 1.0}}};
  const std::string all(text);
  std::size_t used = 0;
  double number = 0;
  try {
    number = std::stod(all, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  std::string_view unit = std::string_view(all).substr(used);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const auto& [name, factor] : kUnits) {
    const double bytes = number * factor;
    if (used > 0 && unit == name && bytes >= 1 && bytes < 0x1p62 && std::floor(bytes) == bytes)
      return static_cast<std::int64_t>(bytes);
  }
  throw std::invalid_argument(
      fmt::format("\"{}\" is not a size: write 64MiB, 1.5GiB, 80GB or a number of bytes", all));
}

}  // namespace zero
