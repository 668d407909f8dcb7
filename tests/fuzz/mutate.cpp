// How libFuzzer changes an entry: half the time as a text of JSON lines, else byte by byte.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Lines = std::vector<std::string>;
using Random = std::minstd_rand;

constexpr std::array<std::string_view, 30> kValues = {"0",
                                                      "1",
                                                      "2",
                                                      "3",
                                                      "-1",
                                                      "7",
                                                      "64",
                                                      "1023",
                                                      "1024",
                                                      "1073741824",
                                                      "2147483648",
                                                      "9007199254740992",
                                                      "9007199254740993",
                                                      "9223372036854775807",
                                                      "18446744073709551615",
                                                      "1e999",
                                                      "-0",
                                                      "0.5",
                                                      "null",
                                                      "true",
                                                      "\"\"",
                                                      "\"add\"",
                                                      "\"copy\"",
                                                      "\"average\"",
                                                      "\"nan\"",
                                                      "[]",
                                                      "[0,0]",
                                                      "[2,1]",
                                                      "[0,9007199254740992]",
                                                      "{}"};

std::size_t below(Random& random, std::size_t n) { return n == 0 ? 0 : random() % n; }

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

// A field of a line: its key with the quotes, and where its value is. Lists and objects are cut at
// their first comma half the time, which is as good a change as any.
struct Field {
  std::size_t key = 0, value = 0, end = 0;
};
Field some_field(const std::string& line, Random& random) {
  const std::size_t colon = line.find("\":", below(random, line.size()));
  if (colon == std::string::npos) return {};
  const std::size_t key = line.rfind('"', colon - (colon > 0));
  const std::size_t value = colon + 2;
  std::size_t end = value;
  if (line[value] == '[') end = line.find(']', value);
  else if (line[value] == '"') end = line.find('"', value + 1);
  else end = line.find_first_of(",}]", value) - 1;
  end = std::min(end, line.size() - 1) + 1;
  if (key == std::string::npos || value >= end) return {};
  return {key, value, end};
}

// The value of the same key in another line.
std::string value_elsewhere(const Lines& lines, std::string_view key, Random& random) {
  const std::string& other = lines[below(random, lines.size())];
  const std::size_t at = other.find(key);
  if (at == std::string::npos) return std::string(kValues[below(random, kValues.size())]);
  const std::size_t value = at + key.size();
  const std::size_t end = other.find_first_of(other[value] == '[' ? "]" : ",}", value);
  return other.substr(value, end - value + (other[value] == '['));
}

void change_value(Lines& lines, Random& random) {
  std::string& line = lines[below(random, lines.size())];
  const Field field = some_field(line, random);
  if (field.end == 0) return;
  std::string value(kValues[below(random, kValues.size())]);
  const std::string old = line.substr(field.value, field.end - field.value);
  switch (below(random, 4)) {
    case 0:
      value = value_elsewhere(lines, line.substr(field.key, field.value - field.key), random);
      break;
    case 1:  // a neighbour of the number
      if (old.size() < 10 && old.find_first_not_of("0123456789") == std::string::npos) {
        value = std::to_string(std::stoll(old) + static_cast<int>(below(random, 5)) - 2);
      }
      break;
    case 2:  // another end of the range
      if (old.front() == '[') {
        const std::string begin = std::to_string(below(random, 40));
        value = "[" + begin + "," + std::to_string(below(random, 40)) + "]";
      }
      break;
    default:
      break;
  }
  line.replace(field.value, field.end - field.value, value);
}

void drop_or_double_field(Lines& lines, Random& random) {
  std::string& line = lines[below(random, lines.size())];
  const Field field = some_field(line, random);
  if (field.end == 0) return;
  const std::string text = line.substr(field.key, field.end - field.key);
  if (random() % 2 == 0) line.insert(field.key, text + ",");
  else line.erase(field.key, text.size() + (line[field.end] == ',' ? 1 : 0));
}

void change_lines(Lines& lines, Random& random) {
  const auto some = [&] { return static_cast<std::ptrdiff_t>(below(random, lines.size())); };
  const std::ptrdiff_t a = some(), b = some();
  const auto few =
      std::min<std::ptrdiff_t>(1 + some() % 6, static_cast<std::ptrdiff_t>(lines.size()) - b);
  const Lines block(lines.begin() + b, lines.begin() + b + few);
  switch (below(random, 6)) {
    case 0:
      lines.erase(lines.begin() + b, lines.begin() + b + few);
      break;
    case 1:
      lines.insert(lines.begin() + a, block.begin(), block.end());
      break;
    case 2:
      std::swap(lines[static_cast<std::size_t>(a)], lines[static_cast<std::size_t>(b)]);
      break;
    case 3:
      lines.insert(lines.begin() + a, "# next rank\n");
      break;
    case 4:
      lines.resize(static_cast<std::size_t>(b) + 1);
      break;
    default:
      lines.erase(lines.begin() + b, lines.begin() + b + few);
      lines.insert(lines.begin() + std::min(a, static_cast<std::ptrdiff_t>(lines.size())),
                   block.begin(), block.end());
      break;
  }
}

// Times out of order would end nearly every changed trace at its first change.
void make_times_equal(Lines& lines) {
  for (std::string& line : lines) {
    const std::size_t t = line.find("\"t\":");
    if (t == std::string::npos) continue;
    const std::size_t end = line.find_first_of(",}", t);
    if (end != std::string::npos) line.replace(t, end - t, "\"t\":1");
  }
}

std::size_t put(const Lines& lines, std::uint8_t* data, std::size_t most) {
  std::string text;
  for (const std::string& line : lines) text += line;
  const std::size_t size = std::min(text.size(), most);
  std::memcpy(data, text.data(), size);
  return size;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  Random random(seed);
  if (size == 0 || below(random, 4) == 0) return LLVMFuzzerMutate(data, size, most);
  Lines lines = lines_of({reinterpret_cast<const char*>(data), size});
  for (std::size_t i = 1 + below(random, 4); i > 0 && !lines.empty(); --i) {
    const std::size_t what = below(random, 8);
    if (what < 4) change_value(lines, random);
    else if (what < 5) drop_or_double_field(lines, random);
    else change_lines(lines, random);
  }
  if (below(random, 8) != 0) make_times_equal(lines);
  return put(lines, data, most);
}

// The beginning of one and the end of another, or lines of both by turns.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size,
                                                 const std::uint8_t* b, std::size_t b_size,
                                                 std::uint8_t* out, std::size_t most,
                                                 unsigned seed) {
  Random random(seed);
  const Lines first = lines_of({reinterpret_cast<const char*>(a), a_size});
  const Lines second = lines_of({reinterpret_cast<const char*>(b), b_size});
  const std::size_t from = below(random, second.size() + 1);
  Lines lines(first.begin(),
              first.begin() + static_cast<std::ptrdiff_t>(below(random, first.size() + 1)));
  if (random() % 2 == 0) {
    lines.insert(lines.end(), second.begin() + static_cast<std::ptrdiff_t>(from), second.end());
  } else {
    lines = first;
    for (std::size_t i = from; i < second.size() && i < from + 8; ++i) {
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(below(random, lines.size() + 1)),
                   second[i]);
    }
  }
  make_times_equal(lines);
  return put(lines, out, most);
}
