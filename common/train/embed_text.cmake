# Writes OUTPUT, a C++ source that defines zero::shipped_text() as the bytes of TEXT.
# Usage: cmake -DTEXT=text.txt -DOUTPUT=shipped_text.cpp -P embed_text.cmake
file(READ ${TEXT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)"
                     "\\1\n    " bytes "${bytes}")
file(WRITE ${OUTPUT} "// Made from stages/data/text.txt by embed_text.cmake; edit that.
#include \"common/train/shipped_text.h\"

namespace zero {
namespace {

constexpr unsigned char kText[] = {
    ${bytes}
};

}  // namespace

std::string_view shipped_text() { return {reinterpret_cast<const char*>(kText), sizeof kText}; }

}  // namespace zero
")
