// Reads two dumped states, whichever ranks hold which part, and compares them bit by bit.
#include "stages/compare/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "common/memory/dtype.h"

namespace zero {
namespace {

using Json = nlohmann::json;

// What one rank holds of one state.
struct Part {
  int rank = 0;
  std::int64_t begin = 0, end = 0;  // positions, without padding
  std::string dtype;
  std::string file;
};

struct Dump {
  std::filesystem::path folder;
  Json index;
  std::int64_t num_parameters = 0;

  explicit Dump(const std::string& path) : folder(path) {
    std::ifstream in(folder / "index.json");
    if (!in) throw std::runtime_error("there is no dumped state (index.json)");
    index = Json::parse(in);
    num_parameters = index.at("num_parameters").get<std::int64_t>();
  }

  std::vector<Part> parts(const std::string& state) const {
    std::vector<Part> parts;
    for (const Json& rank : index.at("ranks")) {
      for (const Json& array : rank.at("arrays")) {
        if (array.at("state") != state) continue;
        Part part{rank.at("rank").get<int>(), array.at("begin").get<std::int64_t>(),
                  array.at("end").get<std::int64_t>(), array.at("dtype").get<std::string>(),
                  array.at("file").get<std::string>()};
        part.end = std::min(part.end, num_parameters);
        if (part.begin < part.end) parts.push_back(part);
      }
    }
    return parts;
  }

  std::vector<char> read(const Part& part, std::int64_t width) const {
    std::vector<char> bytes(static_cast<std::size_t>((part.end - part.begin) * width));
    std::ifstream in(folder / part.file, std::ios::binary);
    if (!in.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
      throw std::runtime_error(fmt::format("the dumped file {} is missing or short", part.file));
    return bytes;
  }
};

std::int64_t width_of(const std::string& dtype) { return dtype == "fp32" ? 4 : 2; }

// Value and bits of a little-endian element.
std::string value_text(const char* bytes, const std::string& dtype) {
  std::uint32_t bits = 0;
  for (std::int64_t i = width_of(dtype); i-- > 0;)
    bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
  if (dtype == "fp32")
    return fmt::format("{:.9g} (bits 0x{:08x})", std::bit_cast<float>(bits), bits);
  const auto half = static_cast<std::uint16_t>(bits);
  const float value = dtype == "fp16" ? widen(Fp16{half}) : widen(Bf16{half});
  return fmt::format("{:.6g} (bits 0x{:04x})", value, bits);
}

void name_element(const Json& tensors, DifferingElement& element) {
  for (const Json& tensor : tensors) {
    const auto begin = tensor.at("begin").get<std::int64_t>();
    if (element.position < begin || element.position >= tensor.at("end").get<std::int64_t>())
      continue;
    element.tensor = tensor.at("name").get<std::string>();
    std::int64_t rest = element.position - begin;
    const auto shape = tensor.at("shape").get<std::vector<std::int64_t>>();
    for (std::size_t i = shape.size(); i-- > 0;) {
      element.index.insert(element.index.begin(), rest % shape[i]);
      rest /= shape[i];
    }
    return;
  }
}

// The whole of one state of the first run, put together from its ranks' parts.
struct Whole {
  std::vector<char> bytes;
  std::vector<Part> parts;
  std::int64_t width = 0;

  Whole(const Dump& dump, const std::string& state) : parts(dump.parts(state)) {
    if (parts.empty()) return;
    width = width_of(parts.front().dtype);
    bytes.resize(static_cast<std::size_t>(dump.num_parameters * width));
    // In order of position, skipping what is there already: where a state is replicated, rank 0's.
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.begin < b.begin; });
    std::int64_t filled = 0;
    for (const Part& part : parts) {
      if (part.begin > filled) break;
      if (part.end <= filled) continue;
      const std::vector<char> from = dump.read(part, width);
      std::copy(from.begin() + (filled - part.begin) * width, from.end(),
                bytes.begin() + filled * width);
      filled = part.end;
    }
    if (filled < dump.num_parameters)
      throw std::runtime_error(fmt::format("no rank has dumped position {} of {}", filled, state));
  }
  int holder(std::int64_t position) const {
    for (const Part& part : parts) {
      if (part.begin <= position && position < part.end) return part.rank;
    }
    return -1;
  }
};

// Appends the first element of `state` that differs, if any.
void compare_state(const Dump& first, const Dump& second, const std::string& state,
                   std::vector<DifferingElement>& found) {
  const Whole whole(first, state);
  const std::vector<Part> parts = second.parts(state);
  if (whole.parts.empty() && parts.empty()) return;  // fp32 has no master apart
  if (whole.parts.empty() || parts.empty())
    throw std::runtime_error(fmt::format("only one of the two has dumped {}", state));
  const Whole complete(second, state);  // for its check that no position is left out
  DifferingElement element;
  element.position = first.num_parameters;
  std::vector<bool> differs(static_cast<std::size_t>(first.num_parameters));
  for (const Part& part : parts) {
    if (part.dtype != whole.parts.front().dtype)
      throw std::runtime_error(fmt::format("{} is dumped in two types", state));
    const std::vector<char> bytes = second.read(part, whole.width);
    for (std::int64_t position = part.begin; position < part.end; ++position) {
      const char* one = whole.bytes.data() + position * whole.width;
      const char* other = bytes.data() + (position - part.begin) * whole.width;
      if (std::memcmp(one, other, static_cast<std::size_t>(whole.width)) == 0) continue;
      differs[static_cast<std::size_t>(position)] = true;
      if (position >= element.position) continue;
      element.position = position;
      element.ranks[0] = whole.holder(position);
      element.ranks[1] = part.rank;
      element.values[0] = value_text(one, part.dtype);
      element.values[1] = value_text(other, part.dtype);
    }
  }
  element.count = std::count(differs.begin(), differs.end(), true);
  if (element.count == 0) return;
  element.state = state;
  name_element(first.index.at("tensors"), element);
  found.push_back(element);
}

}  // namespace

std::vector<DifferingElement> differing_elements(const std::string& first_folder,
                                                 const std::string& second_folder) {
  try {
    const Dump first(first_folder), second(second_folder);
    if (first.num_parameters != second.num_parameters)
      throw std::runtime_error("the two dumped states are not of the same model");
    std::vector<DifferingElement> found;
    for (const char* state : {"master", "exp_avg", "exp_avg_sq", "parameters"})
      compare_state(first, second, state, found);
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.position < b.position; });
    return found;
  } catch (const Json::exception& error) {
    throw std::runtime_error(fmt::format("a dumped state's index.json: {}", error.what()));
  }
}

std::string element_name(const DifferingElement& element) {
  return element.index.empty()
             ? fmt::format("position {}", element.position)
             : fmt::format("{}[{}]", element.tensor, fmt::join(element.index, ", "));
}

}  // namespace zero
