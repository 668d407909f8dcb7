// Reads lines with nlohmann-json and believes nothing that they say.
#include "common/trace/parse.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace zero {
namespace {

using nlohmann::json;

// Integers up to here are exact in every JSON reader, and sums of a few of them do not overflow.
constexpr std::int64_t kLargest = std::int64_t{1} << 53;
constexpr std::int64_t kLargestWorld = 1 << 20;
constexpr int kDeepest = 64;          // objects and lists inside each other
constexpr std::size_t kShort = 4096;  // bytes of a line that need no such look

[[noreturn]] void bad(std::string_view key, std::string_view expected) {
  throw BadLine(fmt::format("\"{}\" should be {}", key, expected));
}

// Depth is checked before parsing: objects of a header are written out again, recursively, and in a
// long line each bracket takes much memory.
void check_depth(std::string_view line) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c == '\\') ++i;
      else if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepest) throw BadLine("too many objects inside each other");
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

std::int64_t to_integer(const json& value, std::string_view key, std::int64_t least,
                        std::int64_t most) {
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() &&
                      value.get<std::uint64_t>() > static_cast<std::uint64_t>(kLargest));
  const std::int64_t number = fits ? value.get<std::int64_t>() : 0;
  if (!fits || number < least || number > most) {
    bad(key, fmt::format("an integer from {} to {}", least, most));
  }
  return number;
}

// The keys of one object. Every accessor throws BadLine when the key is missing or of another type.
class Fields {
 public:
  // `end` is where the positions end.
  Fields(const json& object, std::int64_t end) : object_(object), end_(end) {
    if (!object.is_object()) throw BadLine("not a JSON object");
  }

  const json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) throw BadLine(fmt::format("\"{}\" is missing", key));
    return *found;
  }
  bool is_null(const char* key) const { return at(key).is_null(); }

  std::int64_t integer(const char* key, std::int64_t least = 0,
                       std::int64_t most = kLargest) const {
    return to_integer(at(key), key, least, most);
  }
  int small(const char* key, std::int64_t least = 0, std::int64_t most = 1 << 30) const {
    return static_cast<int>(integer(key, least, most));
  }
  bool boolean(const char* key) const {
    const json& value = at(key);
    if (!value.is_boolean()) bad(key, "true or false");
    return value.get<bool>();
  }
  std::string text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string()) bad(key, "text");
    return value.get<std::string>();
  }
  std::optional<std::string> text_or_null(const char* key) const {
    return is_null(key) ? std::nullopt : std::optional(text(key));
  }
  const json& list(const char* key) const {
    const json& value = at(key);
    if (!value.is_array()) bad(key, "a list");
    return value;
  }
  std::string object(const char* key) const {
    const json& value = at(key);
    if (!value.is_object()) bad(key, "an object");
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  Range range(const char* key) const {
    const json& value = at(key);
    if (!value.is_array() || value.size() != 2) bad(key, "[begin, end]");
    const Range range{to_integer(value[0], key, 0, end_), to_integer(value[1], key, 0, end_)};
    if (range.end < range.begin) bad(key, "[begin, end] with begin <= end");
    return range;
  }
  std::optional<Range> range_or_null(const char* key) const {
    return is_null(key) ? std::nullopt : std::optional(range(key));
  }
  event::Place place(const char* buffer, const char* at_key) const {
    return {integer(buffer, 1), integer(at_key)};
  }
  // Absent unless values are sampled.
  std::vector<double> values() const {
    std::vector<double> result;
    const auto found = object_.find("values");
    if (found == object_.end()) return result;
    if (!found->is_array()) bad("values", "a list");
    for (const json& value : *found) {
      if (value.is_number()) result.push_back(value.get<double>());
      else if (value == "nan") result.push_back(std::numeric_limits<double>::quiet_NaN());
      else if (value == "inf") result.push_back(std::numeric_limits<double>::infinity());
      else if (value == "-inf") result.push_back(-std::numeric_limits<double>::infinity());
      else bad("values", "numbers, \"nan\", \"inf\" or \"-inf\"");
    }
    return result;
  }
  Fields inside(const json& object) const { return {object, end_}; }

 private:
  const json& object_;
  std::int64_t end_;
};

Memory to_category(const std::string& name) {
  for (int c = 0; c < kMemoryCategories; ++c) {
    if (name == to_string(static_cast<Memory>(c))) return static_cast<Memory>(c);
  }
  throw BadLine(fmt::format("\"{}\" is not a category of memory", name));
}

Dtype to_dtype(const std::string& name) {
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16, Dtype::int32}) {
    if (name == to_string(dtype)) return dtype;
  }
  throw BadLine(fmt::format("\"{}\" is not a type", name));
}

Effect to_effect(const std::string& name) {
  if (name == "add") return Effect::add;
  if (name == "copy") return Effect::copy;
  bad("effect", "\"copy\" or \"add\"");
}

json parse_line(std::string_view line) {
  if (line.size() > kShort) check_depth(line);
  json value = json::parse(line, nullptr, false);
  if (value.is_discarded()) throw BadLine("not JSON");
  if (!value.is_object()) throw BadLine("not a JSON object");
  return value;
}

std::vector<event::NamedRange> named_ranges(const Fields& fields, const char* key) {
  std::vector<event::NamedRange> result;
  for (const json& entry : fields.list(key)) {
    const Fields inner = fields.inside(entry);
    result.push_back({inner.text("name"), inner.range("range")});
  }
  return result;
}

event::Hop hop_of(const Fields& fields, const event::Header& header, bool message) {
  event::Hop hop;
  hop.collective = fields.integer("collective");
  hop.name = fields.text("name");
  hop.algorithm = fields.text("algorithm");
  hop.step = fields.small("step", 1);
  hop.steps = fields.small("steps", hop.step);
  hop.chunk = fields.integer("chunk");
  hop.source = message ? fields.small("source", 0, header.world_size - 1) : header.rank;
  hop.destination = message ? fields.small("destination", 0, header.world_size - 1) : header.rank;
  hop.effect = to_effect(fields.text("effect"));
  hop.range = fields.range("range");
  hop.values = fields.values();
  return hop;
}

// ---- one function per kind ----------------------------------------------------------------------

using Parser = event::Any (*)(const Fields&, const event::Header&);

event::Any step(const Fields& f, const event::Header&) {
  return event::Step{f.integer("iteration", -1), f.small("number"), f.text("caption"),
                     f.text_or_null("unit")};
}

event::Any operator_begin(const Fields& f, const event::Header&) {
  return event::OperatorBegin{f.text("name"), f.text_or_null("unit")};
}

event::Any operator_end(const Fields& f, const event::Header&) {
  return event::OperatorEnd{f.text("name")};
}

event::Any allocate(const Fields& f, const event::Header&) {
  event::Allocate allocate{.buffer = f.integer("buffer", 1),
                           .name = f.text("name"),
                           .category = to_category(f.text("category")),
                           .dtype = to_dtype(f.text("dtype")),
                           .address = f.text_or_null("address"),
                           .bytes = f.integer("bytes"),
                           .size = f.integer("size"),
                           .range = f.range_or_null("range")};
  if (allocate.range && allocate.range->size() != allocate.size) {
    bad("size", "that of \"range\"");
  }
  return allocate;
}

event::Any free(const Fields& f, const event::Header&) {
  return event::Free{f.integer("buffer", 1)};
}

event::Any write(const Fields& f, const event::Header&) {
  return event::Write{f.place("buffer", "at"), f.integer("size"), f.range_or_null("range"),
                      f.text("what"), f.values()};
}

event::Any collective_begin(const Fields& f, const event::Header& header) {
  event::CollectiveBegin begin{f.integer("collective"), f.text("name"), f.text("algorithm"),
                               f.range("range"), std::nullopt};
  if (!f.is_null("owner")) begin.owner = f.small("owner", 0, header.world_size - 1);
  return begin;
}

event::Any collective_end(const Fields& f, const event::Header&) {
  return event::CollectiveEnd{f.integer("collective")};
}

event::Any send(const Fields& f, const event::Header& header) {
  event::Send send{hop_of(f, header, true), f.integer("bytes"), f.place("buffer", "at")};
  if (send.hop.source != header.rank) bad("source", "this rank");
  return send;
}

event::Any receive(const Fields& f, const event::Header& header) {
  event::Receive receive{.hop = hop_of(f, header, true),
                         .bytes = f.integer("bytes"),
                         .into = f.place("buffer", "at"),
                         .own = std::nullopt,
                         .divisor = f.small("divisor", 1, kLargestWorld)};
  if (receive.hop.destination != header.rank) bad("destination", "this rank");
  if (!f.is_null("own")) receive.own = f.place("own", "own_at");
  return receive;
}

event::Any move(const Fields& f, const event::Header& header) {
  return event::Move{hop_of(f, header, false), f.place("from", "from_at"), f.place("buffer", "at"),
                     f.small("divisor", 1, kLargestWorld)};
}

event::Any library(const Fields& f, const event::Header& header) {
  const std::string effect = f.text("effect");
  if (effect != "average" && effect != "copy") bad("effect", "\"average\" or \"copy\"");
  event::Library library{.collective = f.integer("collective"),
                         .name = f.text("name"),
                         .average = effect == "average",
                         .into = f.place("buffer", "at"),
                         .parts = {},
                         .values = f.values()};
  for (const json& entry : f.list("parts")) {
    const Fields inner = f.inside(entry);
    event::Library::Part part{inner.range("range"), {}};
    for (const json& rank : inner.list("from")) {
      part.from.push_back(static_cast<int>(to_integer(rank, "from", 0, header.world_size - 1)));
    }
    library.parts.push_back(std::move(part));
  }
  return library;
}

event::Bytes live_and_peak(const Fields& f, const char* key) {
  const json& pair = f.at(key);
  if (!pair.is_array() || pair.size() != 2) bad(key, "[live, peak]");
  return {to_integer(pair[0], key, 0, kLargest), to_integer(pair[1], key, 0, kLargest)};
}

event::Any iteration(const Fields& f, const event::Header&) {
  event::Iteration iteration;
  iteration.iteration = f.integer("iteration", -1);
  if (!f.is_null("loss")) {
    const json& loss = f.at("loss");
    if (!loss.is_number() || !std::isfinite(loss.get<double>())) bad("loss", "a number or null");
    iteration.loss = loss.get<double>();
  }
  iteration.skipped = f.boolean("skipped");
  const Fields memory = f.inside(f.at("memory"));
  for (int c = 0; c < kMemoryCategories; ++c) {
    iteration.memory[static_cast<std::size_t>(c)] =
        live_and_peak(memory, std::string(to_string(static_cast<Memory>(c))).c_str());
  }
  iteration.total = live_and_peak(f, "total");
  if (!f.is_null("budget")) iteration.budget = f.integer("budget");
  return iteration;
}

event::Any end(const Fields& f, const event::Header&) {
  return event::End{f.text("reason"), f.text_or_null("message")};
}

}  // namespace

event::Header parse_header(std::string_view line) {
  check_depth(line);
  const json object = parse_line(line);
  const auto format = object.find("format");
  if (format == object.end() || *format != "zero-steps-trace") {
    throw BadLine("no header: this is not a trace of ZeRO Steps");
  }
  const auto version = object.find("version");
  if (version == object.end() || *version != 1) {
    const std::string found = version == object.end()
                                  ? "none"
                                  : version->dump(-1, ' ', false, json::error_handler_t::replace);
    throw BadLine(fmt::format("version {} of the trace format; this program reads 1", found));
  }
  const Fields any(object, kLargest);
  event::Header header;
  header.run = any.text("run");
  header.program = any.text("program");
  header.world_size = any.small("world_size", 1, kLargestWorld);
  header.rank = any.small("rank", 0, header.world_size - 1);
  header.clock = any.text("clock");
  header.dtype = any.text("dtype");
  header.iterations = any.integer("iterations");
  header.sampled = any.boolean("sampled");
  header.padded_parameters = any.integer("padded_parameters");
  header.num_parameters = any.integer("num_parameters", 0, header.padded_parameters);
  const Fields fields(object, header.padded_parameters);
  header.units = named_ranges(fields, "units");
  header.tensors = named_ranges(fields, "tensors");
  for (const json& entry : fields.list("shards")) {
    const Fields inner = fields.inside(entry);
    header.shards.push_back({inner.small("owner", 0, header.world_size - 1), inner.range("range")});
  }
  if (object.contains("traced") && !fields.is_null("traced")) {
    for (const json& rank : fields.list("traced")) {
      header.traced.push_back(
          static_cast<int>(to_integer(rank, "traced", 0, header.world_size - 1)));
    }
  }
  header.options = fields.object("options");
  header.closed_form = fields.object("closed_form");
  return header;
}

std::variant<TraceEvent, UnknownEvent> parse_event(std::string_view line,
                                                   const event::Header& header) {
  static const std::unordered_map<std::string_view, Parser> kParsers = {
      {"step", step},
      {"operator", operator_begin},
      {"operator_end", operator_end},
      {"allocate", allocate},
      {"free", free},
      {"write", write},
      {"send", send},
      {"collective", collective_begin},
      {"collective_end", collective_end},
      {"receive", receive},
      {"move", move},
      {"library", library},
      {"iteration", iteration},
      {"end", end}};
  const json object = parse_line(line);
  const Fields fields(object, header.padded_parameters);
  std::string kind = fields.text("e");
  const auto parser = kParsers.find(kind);
  if (parser == kParsers.end()) return UnknownEvent{std::move(kind)};
  return TraceEvent{.line = 0, .t = fields.integer("t"), .what = parser->second(fields, header)};
}

}  // namespace zero
