// Numbers as plan prints them.
#include "stages/plan/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "common/memory/bytes.h"

namespace zero {
namespace {

using Units = std::array<std::pair<const char*, double>, 4>;

std::string in_units(std::int64_t bytes, const Units& units) {
  const double value = static_cast<double>(bytes);
  for (const auto& [name, size] : units) {
    if (value >= size) return fmt::format("{:.2f} {}", value / size, name);
  }
  return fmt::format("{} B", bytes);
}

}  // namespace

std::string decimal_bytes(std::int64_t bytes) {
  return in_units(bytes, {{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}}});
}

std::string binary_bytes(std::int64_t bytes) {
  return in_units(bytes, {{{"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}}});
}

std::string gigabytes(std::int64_t bytes) {
  // Two digits after the point and a comma between thousands, rounded as a whole.
  const std::int64_t hundredths = std::llround(static_cast<double>(bytes) / 1e7);
  return fmt::format("{}.{:02} GB", with_commas(hundredths / 100), hundredths % 100);
}

std::string parameters_text(std::int64_t number) {
  const double value = static_cast<double>(number);
  if (value >= 0.9995e12) return fmt::format("{:.3f}T", value / 1e12);
  if (value >= 1e9) return fmt::format("{:.2f}B", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.1f}M", value / 1e6);
  return with_commas(number);
}

std::string round_text(double number) {
  if (number >= 1e12) return fmt::format("{:g}T", number / 1e12);
  if (number >= 1e9) return fmt::format("{:g}B", number / 1e9);
  if (number >= 1e6) return fmt::format("{:g}M", number / 1e6);
  return fmt::format("{:g}", number);
}

std::string rate_text(double per_second) {
  if (per_second >= 1e7) return fmt::format("{:.1f} million", per_second / 1e6);
  if (per_second >= 100) return with_commas(std::llround(per_second));
  return fmt::format("{:.1f}", per_second);
}

std::string duration_text(double seconds) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400, kYear = 365.25 * kDay;
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 2 * kMinute) return fmt::format("{:.2f} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.1f} min", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("{:.1f} h", seconds / kHour);
  if (seconds < 100 * kDay) return fmt::format("{:.1f} days", seconds / kDay);
  if (seconds < 1e4 * kDay) return with_commas(std::llround(seconds / kDay)) + " days";
  return rate_text(seconds / kYear) + " years";
}

std::int64_t parse_count(const std::string& text) {
  std::size_t used = 0;
  double number = 0;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  const double factor = unit == "T"    ? 1e12
                        : unit == "B"  ? 1e9
                        : unit == "M"  ? 1e6
                        : unit.empty() ? 1
                                       : 0;
  const double count = std::round(number * factor);
  if (used == 0 || !(count >= 1 && count <= 1e15) ||
      std::abs(count - number * factor) > 1e-9 * count) {
    throw std::invalid_argument(
        fmt::format("\"{}\" is not a number of parameters: write 7.5e9, 7.5B, 124M or 1T", text));
  }
  return static_cast<std::int64_t>(count);
}

}  // namespace zero
