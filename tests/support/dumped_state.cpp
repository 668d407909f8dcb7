// Reading what --dump-state wrote: one state, whole, from whichever ranks hold its parts.
#include "tests/support/dumped_state.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "tests/support/files.h"

namespace zero {

std::vector<std::uint32_t> read_state(const std::string& folder, const std::string& state) {
  const auto index = nlohmann::json::parse(read_whole_file(folder + "/index.json"));
  std::vector<std::optional<std::uint32_t>> all;
  for (const auto& rank : index.at("ranks")) {
    for (const auto& array : rank.at("arrays")) {
      if (array.at("state") != state) continue;
      const std::string file = array.at("file");
      const std::string bytes = read_whole_file(folder + "/" + file);
      const std::size_t begin = array.at("begin"), end = array.at("end");
      const std::size_t width = array.at("dtype") == "fp32" ? 4 : 2;
      if (bytes.size() != (end - begin) * width)
        throw std::runtime_error(file + ": not as long as index.json says");
      if (all.size() < end) all.resize(end);
      for (std::size_t i = begin; i < end; ++i) {
        std::uint32_t bits = 0;  // little-endian, as the file
        std::memcpy(&bits, bytes.data() + (i - begin) * width, width);
        if (all[i] && *all[i] != bits)
          throw std::runtime_error(file + ": other bits at " + std::to_string(i));
        all[i] = bits;
      }
    }
  }
  std::vector<std::uint32_t> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) throw std::runtime_error(state + ": nobody holds " + std::to_string(i));
    result.push_back(*all[i]);
  }
  return result;
}

}  // namespace zero
