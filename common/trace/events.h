// What a trace says, as types: the header and the events of FORMAT.md, whoever parses them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/memory/dtype.h"
#include "common/memory/range.h"
#include "common/memory/tracker.h"
#include "common/trace/hop.h"

namespace zero::event {

// Elements in a buffer: from element `at` of `buffer` on.
struct Place {
  std::int64_t buffer = 0;
  std::int64_t at = 0;
};

struct NamedRange {
  std::string name;
  Range range;
};

struct Shard {
  int owner = 0;
  Range range;
};

struct Header {
  std::string run, program;
  int rank = 0, world_size = 1;
  std::string clock, dtype;
  std::int64_t iterations = 0;  // told; 0: all
  bool sampled = false;         // whether writes and hops carry values
  std::int64_t num_parameters = 0, padded_parameters = 0;
  std::vector<NamedRange> units, tensors;
  std::vector<Shard> shards;
  std::vector<int> traced;           // ranks; empty: all of them
  std::string options, closed_form;  // JSON objects

  // Whether this rank has a trace, too.
  bool is_traced(int other) const {
    return traced.empty() || std::find(traced.begin(), traced.end(), other) != traced.end();
  }
};

struct Step {
  std::int64_t iteration = -1;
  int number = 0;
  std::string caption;
  std::optional<std::string> unit;
};

struct OperatorBegin {
  std::string name;
  std::optional<std::string> unit;
};
struct OperatorEnd {
  std::string name;
};

struct Allocate {
  std::int64_t buffer = 0;
  std::string name;
  Memory category = Memory::temporary;
  Dtype dtype = Dtype::fp32;
  std::optional<std::string> address;  // "0x55d0c80a2108"
  std::int64_t bytes = 0, size = 0;    // size: elements
  std::optional<Range> range;          // absent: not part of the flat vector
};
struct Free {
  std::int64_t buffer = 0;
};

struct Write {
  Place place;
  std::int64_t size = 0;
  std::optional<Range> range;
  std::string what;  // "initial", "local gradient", ...
  std::vector<double> values;
};

struct CollectiveBegin {
  std::int64_t collective = 0;
  std::string name, algorithm;
  Range range;
  std::optional<int> owner;
};
struct CollectiveEnd {
  std::int64_t collective = 0;
};

// What Send, Receive and Move have in common. A Move has this rank as source and destination.
struct Hop {
  std::int64_t collective = 0;
  std::string name, algorithm;
  int step = 1, steps = 1;
  std::int64_t chunk = 0;
  int source = 0, destination = 0;
  Effect effect = Effect::copy;
  Range range;
  std::vector<double> values;
};

struct Send {
  Hop hop;
  std::int64_t bytes = 0;
  Place from;
};
struct Receive {
  Hop hop;
  std::int64_t bytes = 0;
  Place into;
  std::optional<Place> own;
  int divisor = 1;
};
struct Move {
  Hop hop;
  Place from, into;
  int divisor = 1;
};

struct Library {
  struct Part {
    Range range;
    std::vector<int> from;  // the ranks that contributed
  };
  std::int64_t collective = 0;
  std::string name;
  bool average = false;
  Place into;
  std::vector<Part> parts;
  std::vector<double> values;
};

struct Bytes {
  std::int64_t live = 0, peak = 0;
};
struct Iteration {
  std::int64_t iteration = 0;
  std::optional<double> loss;  // absent: not finite
  bool skipped = false;
  std::array<Bytes, kMemoryCategories> memory{};  // by Memory
  Bytes total;
  std::optional<std::int64_t> budget;
};

struct End {
  std::string reason;  // "iterations", "closed", "failed"
  std::optional<std::string> message;
};

using Any = std::variant<Step, OperatorBegin, OperatorEnd, Allocate, Free, Write, CollectiveBegin,
                         CollectiveEnd, Send, Receive, Move, Library, Iteration, End>;

}  // namespace zero::event

namespace zero {

struct TraceEvent {
  std::int64_t line = 0;  // in its file, from 1
  std::int64_t t = 0;     // nanoseconds on this rank's own clock
  event::Any what;
};

}  // namespace zero
