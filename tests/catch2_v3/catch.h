// Catch2 version 3.
#pragma once
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
using Catch::Approx;

// A text that has `part` in it: version 2 has another name for it.
inline auto contains_text(const std::string& part) {
  return Catch::Matchers::ContainsSubstring(part);
}
