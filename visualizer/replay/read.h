// Reads the files of a run, once or again and again while they grow.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/trace/reader.h"
#include "visualizer/replay/log.h"

namespace zero::replay {

// How far a load has come; may be read, and cancelled, from another thread.
struct Progress {
  std::atomic<double> done = 0;  // 0 to 1
  std::atomic<bool> cancelled = false;
};
struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled") {}
};

// DIRECTORY/rank0.jsonl, DIRECTORY/rank1.jsonl, ...
class LogReader {
 public:
  static constexpr int kMostRanks = 1024;

  explicit LogReader(std::string directory) : directory_(std::move(directory)) {}

  // Reads on as far as the files go; true when there was something new. A line that cannot be read
  // ends its rank's trace, with a note. A file that was begun anew is read anew. Throws TraceError
  // when there is no file (NoTraceYet), or none has a header; Cancelled.
  bool read(Progress* progress = nullptr);

  // What has been read. Later reads do not change it. Requires that read() did not throw.
  RunLog log() const;
  bool all_ended() const;  // nothing will follow

 private:
  struct File {
    std::string path;
    std::unique_ptr<TraceReader> reader;  // null: not there, or of no use
    std::string begins;                   // the first bytes of its header
    RankLog log;
    std::string note;  // why it is left out, or ends
    bool damaged = false;
  };
  void open_files();
  bool begun_anew(const File& file) const;
  bool is_expected(std::size_t rank) const;
  bool read_on(File& file, Progress* progress, std::int64_t all_bytes);

  std::string directory_;
  std::vector<File> files_;              // by rank
  std::atomic<std::int64_t> bytes_ = 0;  // read so far, of all files
};

// There is nothing to read, which may come yet: no directory, no files, or only empty ones.
struct NoTraceYet : TraceError {
  using TraceError::TraceError;
};

// Throws NoTraceYet when there is no such directory, or no trace in it; TraceError when it is none.
void check_directory(const std::string& directory);

// parse_event, quicker for the frequent kinds of events where simdjson is there; always the same.
LineParser fast_parser();

}  // namespace zero::replay
