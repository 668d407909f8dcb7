// Prints, and lets a stream that is closed or full be: fmt::print would throw.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace zero {

// Standard output's state is looked at once, at the end of main.
template <class... Args>
void say(std::FILE* stream, fmt::format_string<Args...> text, Args&&... args) {
  std::fputs(fmt::format(text, std::forward<Args>(args)...).c_str(), stream);
}

}  // namespace zero
