// The file of one rank's trace: the buffer of whole lines, and the parts that lines have in common.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/trace/trace.h"

namespace zero {

using Lines = fmt::memory_buffer;

template <typename... Args>
void print(Lines& lines, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(lines), format, std::forward<Args>(args)...);
}

// `,"key":"text"`, escaped.
void print_key(Lines& lines, std::string_view key, std::string_view text);
// `,"key":null` for an empty text.
void print_key_or_null(Lines& lines, std::string_view key, std::string_view text);

struct Trace::File {
  // Creates the file and writes the header. Throws std::runtime_error.
  File(const std::string& directory, const TraceHeader& header, int last_iteration, bool sampled);

  // A line is begin(kind), then keys, then end().
  void begin(std::string_view kind);
  // False when the file cannot be written any more (a full disk): said once on standard error. The
  // trace is over then, but not the run.
  bool end(bool flush_now = false);

  // Where a view is: its buffer, and from which element of the buffer on. Null when it is empty.
  void view(std::string_view buffer_key, std::string_view at_key, View view);
  void hop(const Hop& hop, bool message);
  // The first few values of `view`, if values are told.
  void sample(View view);

  std::vector<TraceHeader::NamedRange> shards;
  int world_size;
  std::int64_t wire_width;  // bytes of an element on the wire
  int iterations;           // still to be told; 0: all
  int owner = -1;           // of the collective under way; -1: all
  Lines lines;              // whole lines: what reaches the file is whole lines

 private:
  struct Close {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };
  bool flush();

  std::string path_;
  std::unique_ptr<std::FILE, Close> stream_;
  int rank_;
  bool values_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The rank that TraceHeader::shards names.
int owner_of(const TraceHeader::NamedRange& shard);

}  // namespace zero
