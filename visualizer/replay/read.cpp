// Opens what is there of the ranks' files, and reads them on several threads.
#include "visualizer/replay/read.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace zero::replay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBegin = 512;  // bytes of a header that tell one run from another
constexpr const char* kNoTrace = ": no trace here: expected rank0.jsonl, rank1.jsonl, ...";

std::string first_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kBegin, '\0');
  file.read(bytes.data(), kBegin);
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return bytes;
}

std::int64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(size);
}

bool is_empty(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && size_of(path) == 0;
}

// False when there is nothing of that name; throws TraceError when it is no file that can be read.
// What is no regular file is never opened: a pipe would wait for ever, /dev/zero never ends.
bool is_there(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return false;
  if (status.type() == fs::file_type::none) throw TraceError(path + ": " + error.message());
  if (!fs::is_regular_file(status)) throw TraceError(path + ": not a regular file");
  if (access(path.c_str(), R_OK) != 0) throw TraceError(path + ": " + std::strerror(errno));
  return true;
}

}  // namespace

bool LogReader::begun_anew(const File& file) const {
  return size_of(file.path) < file.reader->bytes() || first_bytes(file.path) != file.begins;
}

// Opens the files that are not open yet. The first one with a header says how many there are.
void LogReader::open_files() {
  std::string first_error, empty;
  const File* first = nullptr;
  for (const File& file : files_) {
    if (!file.reader) continue;
    if (begun_anew(file)) {
      files_.clear();
      first = nullptr;
      break;
    }
    if (!first) first = &file;
  }
  if (files_.empty()) files_.resize(kMostRanks);
  for (std::size_t r = 0; r < files_.size(); ++r) {
    File& file = files_[r];
    if (file.reader) continue;
    file.path = fmt::format("{}/rank{}.jsonl", directory_, r);
    try {
      if (!is_there(file.path)) continue;
      auto reader = std::make_unique<TraceReader>(file.path, fast_parser());
      const event::Header& header = reader->header();
      if (header.world_size > kMostRanks) {
        throw TraceError(fmt::format("{}:1: {} ranks; at most {} can be shown", file.path,
                                     header.world_size, kMostRanks));
      }
      if (header.rank != static_cast<int>(r)) {
        throw TraceError(fmt::format("{}:1: this is the trace of rank {}", file.path, header.rank));
      }
      const bool other_run = first && header.run != first->log.header.run;
      const bool other_size =
          first && (header.world_size != first->log.header.world_size ||
                    header.padded_parameters != first->log.header.padded_parameters);
      if ((other_run || other_size) && &file < first) {  // the lowest rank says which run it is
        files_.clear();
        return open_files();
      }
      if (other_run) throw TraceError(file.path + ":1: left out: it belongs to another run");
      if (other_size) {
        throw TraceError(fmt::format("{}:1: left out: the header does not agree with that of {}",
                                     file.path, first->path));
      }
      file.log.path = file.path;
      file.log.header = header;
      file.begins = first_bytes(file.path);
      file.begins.resize(std::min(file.begins.size(), static_cast<std::size_t>(reader->bytes())));
      file.reader = std::move(reader);
      file.note.clear();
      if (!first) {
        files_.resize(static_cast<std::size_t>(header.world_size));
        first = &file;
      }
    } catch (const TraceError& error) {
      file.note = error.what();
      if (is_empty(file.path)) {  // its header may come yet
        if (empty.empty()) empty = error.what();
      } else if (first_error.empty()) {
        first_error = error.what();
      }
    }
  }
  if (first) return;
  files_.clear();
  if (!first_error.empty()) throw TraceError(first_error);
  if (empty.empty()) check_directory(directory_);
  throw NoTraceYet(empty.empty() ? directory_ + kNoTrace : empty);
}

void check_directory(const std::string& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (status.type() == fs::file_type::none) throw TraceError(directory + ": " + error.message());
  if (!fs::is_directory(status)) {
    if (fs::exists(status)) {
      throw TraceError(directory + ": not a directory: give the one that --trace DIR wrote");
    }
    throw NoTraceYet(directory + ": no such directory: give the one that --trace DIR wrote");
  }
  std::string wrong;
  for (int r = 0; r < LogReader::kMostRanks; ++r) {
    try {
      if (is_there(fmt::format("{}/rank{}.jsonl", directory, r))) return;
    } catch (const TraceError& what) {
      if (wrong.empty()) wrong = what.what();
    }
  }
  if (!wrong.empty()) throw TraceError(wrong);
  throw NoTraceYet(directory + kNoTrace);
}

bool LogReader::read_on(File& file, Progress* progress, std::int64_t all_bytes) {
  constexpr std::size_t kBetween = 512;  // events between two looks at the progress
  if (!file.reader || file.damaged) return false;
  const std::size_t before = file.log.events.size();
  std::int64_t told = file.reader->bytes();
  try {
    while (auto event = file.reader->next()) {
      file.log.events.push_back(std::move(*event));
      if (!progress || file.log.events.size() % kBetween != 0) continue;
      if (progress->cancelled) return true;
      bytes_ += file.reader->bytes() - told;
      told = file.reader->bytes();
      progress->done = std::min(1.0, static_cast<double>(bytes_) / static_cast<double>(all_bytes));
    }
  } catch (const TraceError& error) {
    file.note = std::string(error.what()) + ": this rank is shown up to here";
    file.damaged = true;
  } catch (const std::bad_alloc&) {
    file.note = file.path + ": not enough memory: this rank is shown up to where it was read";
    file.damaged = true;
  }
  bytes_ += file.reader->bytes() - told;
  file.log.ended = file.reader->ended();
  return file.log.events.size() != before || file.damaged;
}

bool LogReader::read(Progress* progress) {
  open_files();
  std::int64_t all_bytes = 1;
  for (const File& file : files_) all_bytes += size_of(file.path);
  // A thread takes the next file that nobody has taken.
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> changed = false;
  const auto work = [&] {
    for (std::size_t r = next++; r < files_.size(); r = next++) {
      if (read_on(files_[r], progress, all_bytes)) changed = true;
    }
  };
  const std::size_t count =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, files_.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < count; ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (progress && progress->cancelled) throw Cancelled();
  return changed;
}

RunLog LogReader::log() const {
  RunLog log;
  log.directory = directory_;
  std::size_t missing = 0, first = 0;
  for (const File& file : files_) {
    if (is_expected(log.ranks.size()) && !file.reader && file.note.empty() && missing++ == 0)
      first = log.ranks.size();
    log.ranks.push_back(file.log);
    if (!file.note.empty()) log.notes.push_back(file.note);
    if (!file.reader || file.damaged) continue;
    for (std::string& note : file.reader->notes()) log.notes.push_back(std::move(note));
  }
  if (missing > 0) {
    log.notes.push_back(fmt::format("{}: {} of {} ranks have no trace; the first is rank {}",
                                    directory_, missing, files_.size(), first));
  }
  return log;
}

bool LogReader::all_ended() const {
  for (std::size_t r = 0; r < files_.size(); ++r) {
    if (is_expected(r) && !files_[r].log.ended && !files_[r].damaged) return false;
  }
  return true;
}

// The first header that has come says which ranks are traced.
bool LogReader::is_expected(std::size_t rank) const {
  const auto told = std::find_if(files_.begin(), files_.end(),
                                 [](const File& file) { return file.reader != nullptr; });
  return told == files_.end() || told->log.header.is_traced(static_cast<int>(rank));
}

}  // namespace zero::replay
