// What must hold of the replay of any bytes at all, written by nobody who means well.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace zero::replay {

// Reads DIRECTORY's traces, plays them, and asks everything; also with the usual parser beside the
// quick one, as they grow, and as trace_export does, unless that is told not to be. Returns the
// messages that a person would see: one when the run cannot be shown, else its notes. Throws Broken
// when something does not hold; lets everything else through that should not have been thrown.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};
std::vector<std::string> check_trace(const std::string& directory, bool also_other_readers = true);

}  // namespace zero::replay
