// Reads traces as FORMAT.md defines them: whole, cut off, or still growing; hostile ones too.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/trace/events.h"
#include "common/trace/parse.h"

namespace zero {

// parse_event, or something quicker that gives the same.
using LineParser =
    std::function<std::variant<TraceEvent, UnknownEvent>(std::string_view, const event::Header&)>;

// A trace that cannot be read: "out/rank1.jsonl:7: ...".
struct TraceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One rank's file, line by line.
class TraceReader {
 public:
  // Opens the file and reads its header. Throws TraceError.
  explicit TraceReader(std::string path, LineParser parser = parse_event);

  const event::Header& header() const { return header_; }

  // The next event; nothing when no further whole line is there. Asked again later it goes on, so
  // that a growing trace can be followed. Events of unknown kinds are skipped, with a note. Throws
  // TraceError: the trace is of no use from that line on.
  std::optional<TraceEvent> next();

  // Whether the `end` line has been read: nothing will follow.
  bool ended() const { return ended_; }
  // Whether the file ends, as far as it has been read, within a line.
  bool cut_off() const { return !ended_ && used_ < pending_.size(); }
  std::int64_t lines() const { return lines_; }  // whole lines so far
  std::int64_t bytes() const { return bytes_; }  // of whole lines so far
  // What a person should know about this file, a sentence each.
  std::vector<std::string> notes() const;

 private:
  struct Unknown {
    std::string kind;
    std::int64_t first_line = 0, count = 0;
  };
  // The next whole line, without its end.
  std::optional<std::string_view> next_line();
  [[noreturn]] void fail(std::string_view message) const;

  std::string path_;
  LineParser parser_;
  std::ifstream file_;
  std::string pending_;  // read, of which the first used_ bytes are done with
  std::size_t used_ = 0;
  std::size_t seen_ = 0;  // no line ends in pending_ before here
  std::int64_t lines_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t t_ = 0;
  bool ended_ = false;
  event::Header header_;
  std::vector<Unknown> unknown_;
};

// One rank's trace, as far as it goes.
struct RankTrace {
  std::string path;
  event::Header header;
  std::vector<TraceEvent> events;
  bool ended = false;    // with its `end` line; otherwise the rank was killed, or is still running
  bool cut_off = false;  // within a line
};

struct RunTrace {
  std::vector<RankTrace> ranks;    // in order of rank; ranks without a file are left out
  std::vector<std::string> notes;  // what is missing, cut off or skipped, a sentence each
};

// Reads DIRECTORY/rank*.jsonl. Throws TraceError when there is none, or one cannot be read.
RunTrace read_run(const std::string& directory);

}  // namespace zero
