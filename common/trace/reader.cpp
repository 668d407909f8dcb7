// Cuts files into lines, and collects the ranks of a run.
#include "common/trace/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "common/trace/parse.h"

namespace zero {
namespace {

constexpr std::size_t kRead = 256 * 1024;
constexpr std::size_t kLongestLine = 16 * 1024 * 1024;  // parsed it is up to 30 times as large
constexpr std::size_t kMostUnknown = 8;                 // kinds that are told apart in the notes

// What a file says, within a message: one line, and not too long.
std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 200;
  std::size_t size = std::min(text.size(), kMost);
  // Not within a character of several bytes.
  while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80)
    --size;
  std::string result(text.substr(0, size));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return size < text.size() ? result + "..." : result;
}

// "rank12.jsonl" is 12; -1 for any other name.
int rank_of(const std::string& name) {
  const std::string_view text(name);
  if (!text.starts_with("rank") || !text.ends_with(".jsonl")) return -1;
  const std::string_view digits = text.substr(4, text.size() - 4 - 6);
  int rank = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  return error == std::errc() && end == digits.data() + digits.size() ? rank : -1;
}

}  // namespace

TraceReader::TraceReader(std::string path, LineParser parser)
    : path_(std::move(path)), parser_(std::move(parser)), file_(path_, std::ios::binary) {
  if (!file_) throw TraceError(path_ + ": cannot be opened");
  const auto line = next_line();
  if (!line) {
    lines_ = 1;
    fail(pending_.empty() ? "the file is empty" : "no header: the file is cut off within it");
  }
  try {
    header_ = parse_header(*line);
  } catch (const BadLine& error) {
    fail(error.what());
  }
}

void TraceReader::fail(std::string_view message) const {
  throw TraceError(fmt::format("{}:{}: {}", path_, lines_, printable(message)));
}

std::optional<std::string_view> TraceReader::next_line() {
  while (true) {
    const std::size_t end = pending_.find('\n', seen_);
    if (end != std::string::npos) {
      const std::string_view line = std::string_view(pending_).substr(used_, end - used_);
      used_ = seen_ = end + 1;
      ++lines_;
      bytes_ += static_cast<std::int64_t>(line.size()) + 1;
      return line;
    }
    pending_.erase(0, used_);
    used_ = 0;
    seen_ = pending_.size();
    if (seen_ > kLongestLine) {
      ++lines_;
      fail("this line is too long");
    }
    pending_.resize(seen_ + kRead);
    file_.clear();  // a file that has ended may have grown
    file_.read(pending_.data() + seen_, kRead);
    pending_.resize(seen_ + static_cast<std::size_t>(std::max<std::streamsize>(0, file_.gcount())));
    if (pending_.size() == seen_) {
      pending_.shrink_to_fit();  // there may be a thousand files
      return std::nullopt;
    }
  }
}

std::optional<TraceEvent> TraceReader::next() {
  while (!ended_) {
    const auto line = next_line();
    if (!line) return std::nullopt;
    try {
      auto parsed = parser_(*line, header_);
      if (auto* event = std::get_if<TraceEvent>(&parsed)) {
        if (event->t < t_) fail("\"t\" is less than in the line before");
        t_ = event->t;
        event->line = lines_;
        ended_ = std::holds_alternative<event::End>(event->what);
        return std::move(*event);
      }
      const std::string& kind = std::get<UnknownEvent>(parsed).kind;
      auto known = std::find_if(unknown_.begin(), unknown_.end(),
                                [&](const Unknown& other) { return other.kind == kind; });
      if (known == unknown_.end() && unknown_.size() == kMostUnknown) --known;
      if (known == unknown_.end()) unknown_.push_back({kind, lines_, 1});
      else ++known->count;
    } catch (const BadLine& error) {
      fail(error.what());
    }
  }
  return std::nullopt;
}

std::vector<std::string> TraceReader::notes() const {
  std::vector<std::string> result;
  for (const Unknown& unknown : unknown_) {
    result.push_back(fmt::format("{}:{}: {} event{} of the unknown kind \"{}\" skipped", path_,
                                 unknown.first_line, unknown.count, unknown.count > 1 ? "s" : "",
                                 printable(unknown.kind)));
  }
  if (cut_off()) {
    result.push_back(fmt::format("{}:{}: the trace ends here, within a line", path_, lines_ + 1));
  } else if (!ended_) {
    result.push_back(fmt::format(
        "{}:{}: the trace ends here, without its last line: this rank was killed, or is running",
        path_, lines_));
  }
  return result;
}

RunTrace read_run(const std::string& directory) {
  namespace fs = std::filesystem;
  std::map<int, std::string> paths;
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  if (error) throw TraceError(fmt::format("{}: {}", directory, error.message()));
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    const int rank = rank_of(entries->path().filename().string());
    if (rank >= 0) paths[rank] = entries->path().string();
  }
  if (paths.empty()) {
    throw TraceError(directory + ": no trace here: expected rank0.jsonl, rank1.jsonl, ...");
  }

  RunTrace run;
  for (const auto& [rank, path] : paths) {
    TraceReader reader(path);
    const event::Header& header = reader.header();
    if (header.rank != rank) {
      throw TraceError(fmt::format("{}:1: this is the trace of rank {}", path, header.rank));
    }
    if (!run.ranks.empty() && header.run != run.ranks.front().header.run) {
      run.notes.push_back(path + ": left out: it belongs to another run");
      continue;
    }
    if (!run.ranks.empty() &&
        (header.world_size != run.ranks.front().header.world_size ||
         header.padded_parameters != run.ranks.front().header.padded_parameters)) {
      throw TraceError(fmt::format("{}:1: the header does not agree with that of {}", path,
                                   run.ranks.front().path));
    }
    RankTrace trace;
    trace.path = path;
    trace.header = header;
    while (auto event = reader.next()) trace.events.push_back(std::move(*event));
    trace.ended = reader.ended();
    trace.cut_off = reader.cut_off();
    for (std::string& note : reader.notes()) run.notes.push_back(std::move(note));
    run.ranks.push_back(std::move(trace));
  }
  const event::Header& header = run.ranks.front().header;
  std::vector<bool> present(static_cast<std::size_t>(header.world_size));
  for (int rank = 0; rank < header.world_size; ++rank) {
    present[static_cast<std::size_t>(rank)] = !header.is_traced(rank);  // nobody looks for those
  }
  for (const RankTrace& trace : run.ranks) {
    present[static_cast<std::size_t>(trace.header.rank)] = true;
  }
  const auto missing = std::count(present.begin(), present.end(), false);
  if (missing > 0) {
    const auto first = std::find(present.begin(), present.end(), false) - present.begin();
    run.notes.push_back(fmt::format("{}: {} of {} ranks have no trace; the first is rank {}",
                                    directory, missing, present.size(), first));
  }
  return run;
}

}  // namespace zero
