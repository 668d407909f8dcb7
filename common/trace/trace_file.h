// The file of one rank's trace: the buffer of whole lines, and the parts that lines have in common.
#pragma once

#include <fmt/format.h>

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
  File(const std::string& directory, const TraceHeader& header, int last_iteration, bool sampled,
       std::unique_ptr<Clock> clock);

  // A line is begin(kind), then keys, then end().
  void begin(std::string_view kind);
  // With `flush_now` all lines reach the file, and their times are waited for: that may throw, and
  // then they are all still here. False when the file cannot be written any more (a full disk):
  // said once on standard error. The trace is over then, but not the run.
  bool end(bool flush_now = false);

  // Waits until all times are known, as Clock::wait does.
  void wait();
  // From here on nothing waits or asks for a device's time: lines whose time is not known by now
  // get the program's own, and so do those that follow.
  void give_up();

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
  // A line without its time.
  struct Open {
    std::size_t line;  // where it begins in `lines`
    std::size_t at;    // where the time belongs
  };
  void wait_in_silence() noexcept;
  bool flush();              // writes the lines whose times are known
  void complete();           // moves those to `complete_` that had to wait, and what lies between
  bool write(Lines& whole);  // and empties it

  std::string path_;
  std::unique_ptr<std::FILE, Close> stream_;
  int rank_;
  bool values_;
  std::unique_ptr<Clock> clock_;
  std::vector<Open> open_;      // lines without their times, in order
  Lines complete_;              // what is about to be written, when some lines had to wait
  std::int64_t last_time_ = 0;  // of the lines that had to wait
  std::size_t flush_at_;        // bytes of `lines`
  bool given_up_ = false;
};

// The rank that TraceHeader::shards names.
int owner_of(const TraceHeader::NamedRange& shard);

}  // namespace zero
