// A quick way for lines that are as Trace writes them; any other line takes the usual way.
#include <simdjson.h>

#include <array>
#include <limits>
#include <optional>

#include "visualizer/replay/read.h"

namespace zero::replay {
namespace {

using simdjson::dom::element;

constexpr std::array kCategories = {
    Memory::parameters, Memory::gradients,     Memory::optimizer_states, Memory::activations,
    Memory::temporary,  Memory::communication, Memory::workspace};
static_assert(kCategories.size() == kMemoryCategories);
constexpr std::array kDtypes = {Dtype::fp32, Dtype::fp16, Dtype::bf16, Dtype::int32};

// The keys of a line, asked for in the order in which they are written. At the first that is not
// the next one, or of another type, the cursor is lost: the line takes the usual way, which knows
// every order and what to say of mistakes.
class Cursor {
 public:
  Cursor(simdjson::dom::object object, const event::Header& header)
      : next_(object.begin()), end_(object.end()), header_(header) {}

  bool lost() const { return lost_; }
  bool at_end() const { return !(next_ != end_); }

  std::int64_t integer(std::string_view key, std::int64_t least = 0,
                       std::int64_t most = std::int64_t{1} << 53) {
    std::int64_t number = 0;
    if (!value(key).get(number) && number >= least && number <= most) return number;
    lost_ = true;
    return least;
  }
  int small(std::string_view key, std::int64_t least = 0, std::int64_t most = 1 << 30) {
    return static_cast<int>(integer(key, least, most));
  }
  std::string text(std::string_view key) {
    std::string_view text;
    if (value(key).get(text)) lost_ = true;
    return std::string(text);
  }
  std::optional<std::string> text_or_null(std::string_view key) {
    if (!is_null(key)) return text(key);
    ++next_;
    return std::nullopt;
  }
  Range range(std::string_view key) {
    simdjson::dom::array pair;
    Range range;
    if (value(key).get(pair) || pair.size() != 2 || pair.at(0).get(range.begin) ||
        pair.at(1).get(range.end) || range.begin < 0 || range.end < range.begin ||
        range.end > header_.padded_parameters) {
      lost_ = true;
    }
    return range;
  }
  std::optional<Range> range_or_null(std::string_view key) {
    if (!is_null(key)) return range(key);
    ++next_;
    return std::nullopt;
  }
  event::Place place(std::string_view buffer, std::string_view at) {
    const std::int64_t number = integer(buffer, 1);
    return {number, integer(at)};
  }
  std::optional<event::Place> place_or_null(std::string_view buffer, std::string_view at) {
    if (!is_null(buffer)) return place(buffer, at);
    ++next_;
    if (!is_null(at)) lost_ = true;
    else ++next_;
    return std::nullopt;
  }
  // The one of these whose name the text is.
  template <class Named, std::size_t N>
  Named one_of(std::string_view key, const std::array<Named, N>& all) {
    std::string_view text;
    if (!value(key).get(text)) {
      for (const Named one : all) {
        if (text == to_string(one)) return one;
      }
    }
    lost_ = true;
    return all.front();
  }
  int rank(std::string_view key) { return small(key, 0, header_.world_size - 1); }
  // The last key, which need not be there.
  std::vector<double> values() {
    std::vector<double> result;
    if (at_end()) return result;
    simdjson::dom::array list;
    if (value("values").get(list)) lost_ = true;
    if (lost_) return result;
    for (const element entry : list) {
      double number = 0;
      std::string_view text;
      if (!entry.get(text)) {
        if (text == "nan") number = std::numeric_limits<double>::quiet_NaN();
        else if (text == "inf") number = std::numeric_limits<double>::infinity();
        else if (text == "-inf") number = -std::numeric_limits<double>::infinity();
        else lost_ = true;
      } else if (entry.get(number)) {
        lost_ = true;
      }
      result.push_back(number);
    }
    return result;
  }
  void hop(event::Hop& hop, bool message) {
    hop.collective = integer("collective");
    hop.name = text("name");
    hop.algorithm = text("algorithm");
    hop.step = small("step", 1);
    hop.steps = small("steps", hop.step);
    hop.chunk = integer("chunk");
    hop.source = message ? rank("source") : header_.rank;
    hop.destination = message ? rank("destination") : header_.rank;
    const std::string effect = text("effect");
    if (effect == "add") hop.effect = Effect::add;
    else if (effect != "copy") lost_ = true;
    hop.range = range("range");
  }

 private:
  bool is_null(std::string_view key) const {
    return !lost_ && !at_end() && next_.key() == key && next_.value().is_null();
  }
  // The value of the next key; null where the cursor is lost, which is of no type asked for.
  simdjson::simdjson_result<element> value(std::string_view key) {
    if (lost_ || at_end() || next_.key() != key) {
      lost_ = true;
      return simdjson::NO_SUCH_FIELD;
    }
    element found = next_.value();
    ++next_;
    return found;
  }

  simdjson::dom::object::iterator next_, end_;
  const event::Header& header_;
  bool lost_ = false;
};

std::optional<event::Any> event_of(std::string_view kind, Cursor& c, const event::Header& header) {
  constexpr std::int64_t kLargestWorld = 1 << 20;
  if (kind == "send") {
    event::Send send;
    c.hop(send.hop, true);
    if (send.hop.source != header.rank) return std::nullopt;
    send.bytes = c.integer("bytes");
    send.from = c.place("buffer", "at");
    send.hop.values = c.values();
    return send;
  }
  if (kind == "receive") {
    event::Receive receive;
    c.hop(receive.hop, true);
    if (receive.hop.destination != header.rank) return std::nullopt;
    receive.bytes = c.integer("bytes");
    receive.into = c.place("buffer", "at");
    receive.own = c.place_or_null("own", "own_at");
    receive.divisor = c.small("divisor", 1, kLargestWorld);
    receive.hop.values = c.values();
    return receive;
  }
  if (kind == "move") {
    event::Move move;
    c.hop(move.hop, false);
    move.from = c.place("from", "from_at");
    move.into = c.place("buffer", "at");
    move.divisor = c.small("divisor", 1, kLargestWorld);
    move.hop.values = c.values();
    return move;
  }
  if (kind == "write") {
    event::Write write;
    write.place = c.place("buffer", "at");
    write.size = c.integer("size");
    write.range = c.range_or_null("range");
    write.what = c.text("what");
    write.values = c.values();
    return write;
  }
  if (kind == "allocate") {
    event::Allocate allocate;
    allocate.buffer = c.integer("buffer", 1);
    allocate.name = c.text("name");
    allocate.category = c.one_of("category", kCategories);
    allocate.dtype = c.one_of("dtype", kDtypes);
    allocate.address = c.text_or_null("address");
    allocate.bytes = c.integer("bytes");
    allocate.size = c.integer("size");
    allocate.range = c.range_or_null("range");
    if (allocate.range && allocate.range->size() != allocate.size) return std::nullopt;
    return allocate;
  }
  if (kind == "operator") {
    event::OperatorBegin begin{c.text("name"), std::nullopt};
    begin.unit = c.text_or_null("unit");
    return begin;
  }
  if (kind == "operator_end") return event::OperatorEnd{c.text("name")};
  if (kind == "free") return event::Free{c.integer("buffer", 1)};
  if (kind == "collective_end") return event::CollectiveEnd{c.integer("collective")};
  return std::nullopt;
}

// As parse_event: each of its own file, since it keeps simdjson's memory from line to line.
class FastParser {
 public:
  std::variant<TraceEvent, UnknownEvent> operator()(std::string_view line,
                                                    const event::Header& header) {
    element document;
    simdjson::dom::object object;
    if (parser_->parse(line.data(), line.size()).get(document) || document.get(object)) {
      return parse_event(line, header);
    }
    Cursor cursor(object, header);
    const std::string kind = cursor.text("e");
    const std::int64_t t = cursor.integer("t");
    auto what = event_of(kind, cursor, header);
    if (!what || cursor.lost() || !cursor.at_end()) return parse_event(line, header);
    return TraceEvent{.line = 0, .t = t, .what = std::move(*what)};
  }

 private:
  std::shared_ptr<simdjson::dom::parser> parser_ = std::make_shared<simdjson::dom::parser>();
};

}  // namespace

LineParser fast_parser() { return FastParser(); }

}  // namespace zero::replay
