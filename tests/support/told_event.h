// Every field of an event as text, so that two parsers can be compared.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "common/trace/events.h"
#include "common/trace/parse.h"
#include "common/trace/reader.h"

namespace zero {

struct ToldEvent {
  std::string text;

  void operator()(const event::Step& e) { add(e.iteration, e.number, e.caption, e.unit); }
  void operator()(const event::OperatorBegin& e) { add(e.name, e.unit); }
  void operator()(const event::OperatorEnd& e) { add(e.name); }
  void operator()(const event::Allocate& e) {
    add(e.buffer, e.name, static_cast<int>(e.category), static_cast<int>(e.dtype), e.address,
        e.bytes, e.size, e.range);
  }
  void operator()(const event::Free& e) { add(e.buffer); }
  void operator()(const event::Write& e) { add(e.place, e.size, e.range, e.what, e.values); }
  void operator()(const event::CollectiveBegin& e) {
    add(e.collective, e.name, e.algorithm, e.range, e.owner);
  }
  void operator()(const event::CollectiveEnd& e) { add(e.collective); }
  void operator()(const event::Send& e) { add(e.hop, e.bytes, e.from); }
  void operator()(const event::Receive& e) { add(e.hop, e.bytes, e.into, e.own, e.divisor); }
  void operator()(const event::Move& e) { add(e.hop, e.from, e.into, e.divisor); }
  void operator()(const event::Library& e) {
    add(e.collective, e.name, e.average, e.into, e.values);
    for (const event::Library::Part& part : e.parts) add(part.range, part.from);
  }
  void operator()(const event::Iteration& e) {
    add(e.iteration, e.loss, e.skipped, e.total.live, e.total.peak, e.budget);
    for (const event::Bytes& bytes : e.memory) add(bytes.live, bytes.peak);
  }
  void operator()(const event::End& e) { add(e.reason, e.message); }

 private:
  template <class... T>
  void add(const T&... values) {
    (tell(values), ...);
  }
  template <class T>
  void tell(const T& value) {
    text += fmt::format("{} ", value);
  }
  template <class T>
  void tell(const std::optional<T>& value) {
    if (value) tell(*value);
    else text += "null ";
  }
  void tell(const std::string& value) { text += fmt::format("'{}' ", value); }
  void tell(const Range& range) { add(range.begin, range.end); }
  void tell(const event::Place& place) { add(place.buffer, place.at); }
  void tell(const event::Hop& hop) {
    add(hop.collective, hop.name, hop.algorithm, hop.step, hop.steps, hop.chunk, hop.source,
        hop.destination, static_cast<int>(hop.effect), hop.range, hop.values);
  }
};

// What a parser makes of a line: the event, the kind that it does not know, or its complaint.
inline std::string tell(const LineParser& parser, std::string_view line,
                        const event::Header& header) {
  try {
    const auto parsed = parser(line, header);
    if (const auto* unknown = std::get_if<UnknownEvent>(&parsed)) return "unknown " + unknown->kind;
    const auto& event = std::get<TraceEvent>(parsed);
    ToldEvent told{fmt::format("{} {} ", event.t, event.what.index())};
    std::visit(told, event.what);
    return told.text;
  } catch (const BadLine& error) {
    return std::string("bad: ") + error.what();
  }
}

}  // namespace zero
