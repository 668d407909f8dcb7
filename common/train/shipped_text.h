// The text that the programs train on when no other is given: stages/data/text.txt.
#pragma once

#include <string_view>

namespace zero {

// UTF-8; part of the program itself, so that it runs from any folder. Valid for ever.
std::string_view shipped_text();

}  // namespace zero
