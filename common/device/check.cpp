// The messages of wrong sizes.
#include "common/device/check.h"

#include <fmt/format.h>

#include <stdexcept>

namespace zero {

void check_size(std::string_view op, std::string_view name, const View& view,
                std::int64_t expected) {
  if (view.size() == expected) return;
  throw std::invalid_argument(
      fmt::format("{}: {} has {} elements, expected {}", op, name, view.size(), expected));
}

void check_shape(std::string_view op, bool good, std::string_view complaint) {
  if (!good) throw std::invalid_argument(fmt::format("{}: {}", op, complaint));
}

void check_ids(std::string_view op, const std::int32_t* ids, std::int64_t count,
               std::int64_t limit) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (ids[i] >= 0 && ids[i] < limit) continue;
    throw std::out_of_range(
        fmt::format("{}: token {} at position {} is not in [0, {})", op, ids[i], i, limit));
  }
}

}  // namespace zero
