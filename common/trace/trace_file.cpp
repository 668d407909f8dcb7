// Lines of JSON, collected and written 64 KiB at a time or when somebody may want to see them.
#include "common/trace/trace_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

namespace zero {
namespace {

constexpr std::size_t kFlushBytes = 64 * 1024;
constexpr std::size_t kMostOpen = 4 * 1024 * 1024;  // bytes of lines that wait for their times
constexpr std::int64_t kSample = 4;                 // values told per write or hop

// A JSON string. Names are plain ASCII; anything else (a message with a quote, a path that is not
// UTF-8) takes the slow way, where broken UTF-8 is replaced.
void print_string(Lines& lines, std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
  });
  if (plain) {
    print(lines, "\"{}\"", text);
  } else {
    const nlohmann::json json(text);
    print(lines, "{}", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
}

// JSON has no infinity and no NaN: they are strings.
void print_number(Lines& lines, float x) {
  if (std::isfinite(x)) print(lines, "{}", x);
  else print(lines, "\"{}\"", std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
}

// A JSON object that the caller has made, on one line.
std::string one_line(std::string_view what, const std::string& object) {
  if (object.empty()) return "{}";
  const nlohmann::json json = nlohmann::json::parse(object, nullptr, false);
  if (!json.is_object()) {
    throw std::runtime_error(fmt::format("the trace's {} are not a JSON object: {}", what, object));
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void print_named_ranges(Lines& lines, std::string_view key,
                        const std::vector<TraceHeader::NamedRange>& ranges) {
  print(lines, ",\"{}\":[", key);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    print(lines, "{}{{\"name\":", i > 0 ? "," : "");
    print_string(lines, ranges[i].name);
    print(lines, ",\"range\":[{},{}]}}", ranges[i].range.begin, ranges[i].range.end);
  }
  print(lines, "]");
}

// Rank files of an earlier, larger run into the same directory would look like ranks of this one.
void remove_stale_files(const std::filesystem::path& directory, int world_size) {
  std::error_code ignored;
  std::vector<std::filesystem::path> stale;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    int rank = -1;
    if (std::sscanf(name.c_str(), "rank%d", &rank) == 1 && rank >= world_size &&
        name == fmt::format("rank{}.jsonl", rank))
      stale.push_back(entry.path());
  }
  for (const std::filesystem::path& path : stale) std::filesystem::remove(path, ignored);
}

}  // namespace

void print_key(Lines& lines, std::string_view key, std::string_view text) {
  print(lines, ",\"{}\":", key);
  print_string(lines, text);
}

void print_key_or_null(Lines& lines, std::string_view key, std::string_view text) {
  if (text.empty()) print(lines, ",\"{}\":null", key);
  else print_key(lines, key, text);
}

int owner_of(const TraceHeader::NamedRange& shard) {
  int owner = -1;
  std::from_chars(shard.name.data(), shard.name.data() + shard.name.size(), owner);
  return owner;
}

void Trace::leave_out(const std::string& directory, int rank, int world_size) {
  std::error_code ignored;
  std::filesystem::remove(std::filesystem::path(directory) / fmt::format("rank{}.jsonl", rank),
                          ignored);
  if (rank == 0) remove_stale_files(directory, world_size);
}

Trace::File::File(const std::string& directory, const TraceHeader& header, int last_iteration,
                  bool sampled, std::unique_ptr<Clock> clock)
    : shards(header.shards),
      world_size(header.world_size),
      wire_width(header.dtype == to_string(Dtype::fp32) ? 4 : 2),
      iterations(last_iteration),
      rank_(header.rank),
      values_(sampled),
      clock_(std::move(clock)),
      flush_at_(kFlushBytes) {
  const std::filesystem::path folder(directory);
  path_ = (folder / fmt::format("rank{}.jsonl", header.rank)).string();
  const std::string options = one_line("options", header.options);
  const std::string closed_form = one_line("closed form", header.closed_form);

  print(lines, "{{\"e\":\"header\",\"t\":{}", clock_->now());
  print(lines, ",\"format\":\"zero-steps-trace\",\"version\":1");
  print_key(lines, "run", header.run);
  print_key(lines, "program", header.program);
  print(lines, ",\"rank\":{},\"world_size\":{}", header.rank, header.world_size);
  print_key(lines, "clock", clock_->name());
  print_key(lines, "dtype", header.dtype);
  print(lines, ",\"iterations\":{},\"sampled\":{}", last_iteration, sampled);
  print(lines, ",\"num_parameters\":{},\"padded_parameters\":{}", header.num_parameters,
        header.padded_parameters);
  print_named_ranges(lines, "units", header.units);
  print_named_ranges(lines, "tensors", header.tensors);
  print(lines, ",\"shards\":[");
  for (std::size_t i = 0; i < shards.size(); ++i) {
    print(lines, "{}{{\"owner\":{},\"range\":[{},{}]}}", i > 0 ? "," : "", owner_of(shards[i]),
          shards[i].range.begin, shards[i].range.end);
  }
  print(lines, "],\"traced\":");
  if (header.traced.empty()) print(lines, "null");
  else print(lines, "[{}]", fmt::join(header.traced, ","));
  print(lines, ",\"options\":{},\"closed_form\":{}", options, closed_form);

  std::error_code error;
  std::filesystem::create_directories(folder, error);  // a failure shows when the file is opened
  stream_.reset(std::fopen(path_.c_str(), "wb"));
  print(lines, "}}\n");
  // Unbuffered: `lines` is the buffer.
  if (!stream_ || std::setvbuf(stream_.get(), nullptr, _IONBF, 0) != 0 || !flush()) {
    throw std::runtime_error(fmt::format("cannot write the trace {}: {}", path_,
                                         error ? error.message() : std::strerror(errno)));
  }
  if (rank_ == 0) remove_stale_files(folder, world_size);
}

void Trace::File::begin(std::string_view kind) {
  const std::optional<std::int64_t> t = given_up_ ? clock_->now() : clock_->mark();
  if (t) {
    print(lines, "{{\"e\":\"{}\",\"t\":{}", kind, std::max(*t, last_time_));
  } else {
    const std::size_t line = lines.size();
    print(lines, "{{\"e\":\"{}\",\"t\":", kind);
    open_.push_back({line, lines.size()});
  }
}

void Trace::File::wait() {
  if (!open_.empty() && !given_up_) clock_->wait();
}

bool Trace::File::end(bool flush_now) {
  print(lines, "}}\n");
  if (!flush_now && lines.size() < flush_at_) return true;
  if (flush_now) wait();
  else if (lines.size() > kMostOpen) wait_in_silence();
  if (flush()) {
    flush_at_ = lines.size() + kFlushBytes;
    return true;
  }
  std::fputs(fmt::format("rank {}: the trace ends here: cannot write {}: {}; the run goes on\n",
                         rank_, path_, std::strerror(errno))
                 .c_str(),
             stderr);
  return false;
}

// A span's end and a buffer's release must not throw: who waits next is told.
void Trace::File::wait_in_silence() noexcept {
  try {
    wait();
  } catch (...) {
  }
}

void Trace::File::give_up() {
  given_up_ = true;
  complete();
}

bool Trace::File::flush() {
  complete();
  return write(complete_) && (!open_.empty() || write(lines));
}

// Lines stay in order: one whose time is not known keeps back all that follow.
void Trace::File::complete() {
  if (open_.empty()) return;
  std::size_t known = 0;  // of open_
  std::size_t done = 0;   // of lines
  const auto take_until = [&](std::size_t end) {
    complete_.append(lines.data() + done, lines.data() + end);
    done = end;
  };
  bool told = true;
  for (; known < open_.size(); ++known) {
    const std::optional<std::int64_t> t = told ? clock_->next() : std::nullopt;
    told = t.has_value();
    if (!told && !given_up_) break;
    last_time_ = std::max(last_time_, told ? *t : clock_->now());
    take_until(open_[known].at);
    print(complete_, "{}", last_time_);
  }
  take_until(known < open_.size() ? open_[known].line : lines.size());

  open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(known));
  for (Open& open : open_) {
    open.line -= done;
    open.at -= done;
  }
  std::copy(lines.begin() + done, lines.end(), lines.begin());
  lines.resize(lines.size() - done);
}

bool Trace::File::write(Lines& whole) {
  if (whole.size() == 0) return true;
  const std::size_t written = std::fwrite(whole.data(), 1, whole.size(), stream_.get());
  const bool all = written == whole.size();
  whole.clear();
  return all;
}

void Trace::File::view(std::string_view buffer_key, std::string_view at_key, View view) {
  if (view.size() == 0) {
    print(lines, ",\"{}\":null,\"{}\":null", buffer_key, at_key);
  } else {
    print(lines, ",\"{}\":{},\"{}\":{}", buffer_key, view.allocation().id, at_key,
          view.range().begin - view.allocation().range.begin);
  }
}

void Trace::File::hop(const Hop& hop, bool message) {
  print(lines, ",\"collective\":{},\"name\":\"{}\",\"algorithm\":\"{}\"", hop.collective, hop.name,
        hop.algorithm);
  print(lines, ",\"step\":{},\"steps\":{},\"chunk\":{}", hop.step, hop.steps, hop.chunk);
  if (message) print(lines, ",\"source\":{},\"destination\":{}", hop.source, hop.destination);
  print(lines, ",\"effect\":\"{}\",\"range\":[{},{}]", hop.effect == Effect::add ? "add" : "copy",
        hop.range.begin, hop.range.end);
}

void Trace::File::sample(View view) {
  if (!values_ || view.size() == 0 || !view.data()) return;
  const View some = view.first(std::min(kSample, view.size()));
  std::array<std::byte, kSample * sizeof(float)> storage;
  const auto bytes = std::span(storage).first(some.bytes().size());
  some.heap().download(some, bytes);
  print(lines, ",\"values\":[");
  for (std::int64_t i = 0; i < some.size(); ++i) {
    if (i > 0) print(lines, ",");
    const std::byte* at = bytes.data() + i * bytes_of(some.dtype());
    if (some.dtype() == Dtype::int32) {
      std::int32_t x = 0;
      std::memcpy(&x, at, sizeof x);
      print(lines, "{}", x);
    } else {
      with_type(some.dtype(), [&](auto x) {
        std::memcpy(&x, at, sizeof x);
        print_number(lines, widen(x));
      });
    }
  }
  print(lines, "]");
}

}  // namespace zero
