// From one line of a trace to a typed event.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "common/trace/events.h"

namespace zero {

// What is wrong with a line: the reader adds the file and the number of the line.
struct BadLine : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A kind of event that this version does not know.
struct UnknownEvent {
  std::string kind;
};

// Both check everything that one line can get wrong: types, ranges, ranks, sizes. Throw BadLine.
event::Header parse_header(std::string_view line);
// The event's `line` is left to the caller.
std::variant<TraceEvent, UnknownEvent> parse_event(std::string_view line,
                                                   const event::Header& header);

}  // namespace zero
