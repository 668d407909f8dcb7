// Runs for tests of the replay: traced collectives, and traces changed line by line.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/support/files.h"
#include "tests/support/traced_collectives.h"

namespace zero {

// Of all lines of DIRECTORY/rank*.jsonl: what `change` makes of them; null drops a line.
inline void change_lines(const std::string& directory,
                         const std::function<void(nlohmann::json&)>& change) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::istringstream lines(read_whole_file(entry.path().string()));
    std::string changed;
    for (std::string line; std::getline(lines, line);) {
      nlohmann::json object = nlohmann::json::parse(line);
      change(object);
      if (object.is_null()) continue;
      changed += object.dump();
      changed += '\n';
    }
    write_whole_file(entry.path().string(), changed);
  }
}

}  // namespace zero
