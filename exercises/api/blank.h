// What stands in a skeleton where something is to be written: it compiles, and throws when it runs.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace zero::exercise {

// Thrown where an answer still has a blank.
struct StillBlank : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `blank("06_zero1", "step 3")` as a statement, or as the value of anything:
// `const GradientNorm norm = blank(...)`. Always throws. What is named after these two is not
// looked at: it would otherwise be unused as long as the blank is there.
class [[maybe_unused]] blank {
 public:
  template <class... Given>
  blank(std::string_view exercise, std::string_view what, const Given&...) {
    throw StillBlank(std::string(what) +
                     " is still blank: write it, and remove the line blank(...); exercises/" +
                     std::string(exercise) + "/README.md says what to write");
  }
  template <class T>
  operator T() const {
    throw StillBlank("");  // not reached: the constructor has thrown
  }
};

}  // namespace zero::exercise
