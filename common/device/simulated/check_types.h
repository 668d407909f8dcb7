// The storage types that an operator needs, where no element is ever read.
#pragma once

#include <initializer_list>

#include "common/memory/buffer.h"

namespace zero {

// Throws std::invalid_argument, as the CPU's operators do, unless every view holds `dtype`.
inline void check_types(Dtype dtype, std::initializer_list<View> views) {
  for (const View& view : views) {
    if (dtype == Dtype::int32) {
      view.as<std::int32_t>();
    } else {
      with_type(dtype, [&](auto type) { view.as<decltype(type)>(); });
    }
  }
}

}  // namespace zero
