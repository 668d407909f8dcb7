// Sizes are checked before anything is written.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/memory/buffer.h"

namespace zero {

// Throws std::invalid_argument unless `view` holds `expected` elements:
// "layernorm_forward: weight has 5 elements, expected 7".
void check_size(std::string_view op, std::string_view name, const View& view,
                std::int64_t expected);

// Throws std::invalid_argument "op: complaint" unless `good`.
void check_shape(std::string_view op, bool good, std::string_view complaint);

// Throws std::out_of_range unless each of the `count` ids is in [0, limit).
void check_ids(std::string_view op, const std::int32_t* ids, std::int64_t count,
               std::int64_t limit);

}  // namespace zero
