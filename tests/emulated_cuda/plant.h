// The command line of a program with planted faults: one of them, or which there are.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <string>

namespace zero {

using PlantedFaults = std::map<std::string, std::function<int()>>;

// PROGRAM FAULT: runs it and returns its status. --help lists the faults; without a fault or with
// an unknown one they are listed on standard error and the status is 2.
inline int plant(int argc, char** argv, const PlantedFaults& faults) {
  const std::string fault = argc > 1 ? argv[1] : "";
  const auto found = faults.find(fault);
  if (found != faults.end()) return found->second();
  const bool is_help = fault == "--help" || fault == "-h";
  std::FILE* const out = is_help ? stdout : stderr;
  if (!is_help && argc > 1) std::fprintf(out, "no such fault: %s\n", argv[1]);
  std::fprintf(out, "Usage: [EMU_ORDER=reverse] [...] %s FAULT   (README.md: what EMU_... say)\n",
               argv[0]);
  for (const auto& [name, program] : faults) std::fprintf(out, "  %s\n", name.c_str());
  return is_help ? 0 : 2;
}

}  // namespace zero
