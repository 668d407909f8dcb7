// Catch2 version 2, one header.
#pragma once
#include <catch2/catch.hpp>

// A text that has `part` in it: version 3 has another name for it.
inline auto contains_text(const std::string& part) { return Catch::Matchers::Contains(part); }
