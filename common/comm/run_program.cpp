// What ranks of one process do alike, threads or simulated.
#include "common/comm/run_program.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>

namespace zero {

bool run_program(Transport& transport, const RankProgram& program) {
  std::string message;
  try {
    program(transport);
    return true;
  } catch (const std::exception& error) {
    message = error.what();
  } catch (...) {
    message = "an exception of unknown type";
  }
  if (message.empty()) return false;
  // Errors of the communication name their rank already.
  const std::string name = fmt::format("rank {}", transport.rank());
  if (!message.starts_with(name) || message.find_first_of(":,") != name.size()) {
    message = fmt::format("{}: {}", name, message);
  }
  std::fputs(fmt::format("{}\n", message).c_str(), stderr);
  return false;
}

}  // namespace zero
