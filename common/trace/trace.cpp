// Tells what happens on one rank, one line each; FORMAT.md says what the lines mean.
#include "common/trace/trace.h"

#include <cmath>
#include <exception>

#include "common/trace/trace_file.h"

namespace zero {

Trace::Trace(const Place& place) : place_(place) {}

Trace::~Trace() {
  // The device may be gone by now, so that there is nothing to wait for.
  if (std::uncaught_exceptions() > 0) failed("an error ended this rank");
  else finish("closed", {});
}

void Trace::open(const std::string& directory, const TraceHeader& header, int iterations,
                 bool values, std::unique_ptr<Clock> clock) {
  file_ = std::make_unique<File>(directory, header, iterations, values, std::move(clock));
  step();
}

void Trace::step() {
  if (!file_) return;
  Lines& lines = file_->lines;
  file_->begin("step");
  print(lines, ",\"iteration\":{},\"number\":{}", place_.iteration, place_.step);
  print_key(lines, "caption", place_.banner);
  print_key_or_null(file_->lines, "unit", place_.unit);
  if (!file_->end(true)) file_.reset();
}

void Trace::allocated(const Allocation& allocation) {
  if (!file_) return;
  Lines& lines = file_->lines;
  file_->begin("allocate");
  print(lines, ",\"buffer\":{}", allocation.id);
  print_key(lines, "name", allocation.name);
  print(lines, ",\"category\":\"{}\",\"dtype\":\"{}\"", to_string(allocation.category),
        to_string(allocation.dtype));
  if (allocation.data) print(lines, ",\"address\":\"{}\"", fmt::ptr(allocation.data));
  else print(lines, ",\"address\":null");
  print(lines, ",\"bytes\":{},\"size\":{}", allocation.bytes, allocation.range.size());
  if (allocation.flat) {
    print(lines, ",\"range\":[{},{}]", allocation.range.begin, allocation.range.end);
  } else {
    print(lines, ",\"range\":null");
  }
  if (!file_->end()) file_.reset();
}

void Trace::released(const Allocation& allocation) {
  if (!file_) return;
  file_->begin("free");
  print(file_->lines, ",\"buffer\":{}", allocation.id);
  if (!file_->end()) file_.reset();
}

void Trace::wrote(View view, Written what) {
  if (!file_ || view.size() == 0) return;
  Lines& lines = file_->lines;
  file_->begin("write");
  file_->view("buffer", "at", view);
  print(lines, ",\"size\":{}", view.size());
  if (view.allocation().flat) {
    print(lines, ",\"range\":[{},{}]", view.range().begin, view.range().end);
  } else {
    print(lines, ",\"range\":null");
  }
  print_key(lines, "what", to_string(what));
  file_->sample(view);
  if (!file_->end()) file_.reset();
}

void Trace::operator_begins(std::string_view name) {
  if (!file_) return;
  file_->begin("operator");
  print_key(file_->lines, "name", name);
  print_key_or_null(file_->lines, "unit", place_.unit);
  if (!file_->end()) file_.reset();
}

void Trace::operator_ends(std::string_view name) {
  if (!file_) return;
  file_->begin("operator_end");
  print_key(file_->lines, "name", name);
  if (!file_->end()) file_.reset();
}

void Trace::collective_begins(std::int64_t id, std::string_view name, std::string_view algorithm,
                              Range range, int owner) {
  if (!file_) return;
  file_->owner = owner;
  Lines& lines = file_->lines;
  file_->begin("collective");
  print(lines, ",\"collective\":{},\"name\":\"{}\",\"algorithm\":\"{}\",\"range\":[{},{}]", id,
        name, algorithm, range.begin, range.end);
  if (owner < 0) print(lines, ",\"owner\":null");
  else print(lines, ",\"owner\":{}", owner);
  // Written at once: if another rank dies, this rank may wait here until it is killed, and then the
  // last line says where it waited.
  if (!file_->end(true)) file_.reset();
}

void Trace::collective_ends(std::int64_t id) {
  if (!file_) return;
  file_->begin("collective_end");
  print(file_->lines, ",\"collective\":{}", id);
  if (!file_->end()) file_.reset();
}

void Trace::sent(const Hop& hop, View from) {
  if (!file_) return;
  file_->begin("send");
  file_->hop(hop, true);
  print(file_->lines, ",\"bytes\":{}", from.bytes().size());
  file_->view("buffer", "at", from);
  file_->sample(from);
  if (!file_->end()) file_.reset();
}

void Trace::received(const Hop& hop, View into, View own, int divisor) {
  if (!file_) return;
  file_->begin("receive");
  file_->hop(hop, true);
  print(file_->lines, ",\"bytes\":{}", hop.range.size() * file_->wire_width);
  file_->view("buffer", "at", into);
  file_->view("own", "own_at", own);
  print(file_->lines, ",\"divisor\":{}", divisor);
  file_->sample(into);
  if (!file_->end()) file_.reset();
}

void Trace::moved(const Hop& hop, View from, View into, int divisor) {
  if (!file_) return;
  file_->begin("move");
  file_->hop(hop, false);
  file_->view("from", "from_at", from);
  file_->view("buffer", "at", into);
  print(file_->lines, ",\"divisor\":{}", divisor);
  file_->sample(into);
  if (!file_->end()) file_.reset();
}

void Trace::library(std::int64_t id, std::string_view name, View into) {
  if (!file_) return;
  Lines& lines = file_->lines;
  // What these two deliver is one rank's values; everything else is an average over all.
  const bool copies = name == "broadcast" || name == "all_gather";
  file_->begin("library");
  print(lines, ",\"collective\":{},\"name\":\"{}\",\"effect\":\"{}\"", id, name,
        copies ? "copy" : "average");
  file_->view("buffer", "at", into);
  print(lines, ",\"parts\":[");
  std::string_view comma;
  const auto part = [&](Range range, int first, int last) {
    if (range.empty()) return;
    print(lines, "{}{{\"range\":[{},{}],\"from\":[", comma, range.begin, range.end);
    for (int rank = first; rank < last; ++rank) print(lines, "{}{}", rank > first ? "," : "", rank);
    print(lines, "]}}");
    comma = ",";
  };
  if (name == "all_gather") {
    for (const auto& shard : file_->shards) {
      part(into.range().intersect(shard.range), owner_of(shard), owner_of(shard) + 1);
    }
  } else if (name == "broadcast") {
    part(into.range(), file_->owner, file_->owner + 1);
  } else {
    part(into.range(), 0, file_->world_size);
  }
  print(lines, "]");
  file_->sample(into);
  if (!file_->end()) file_.reset();
}

void Trace::iteration(double loss, bool skipped, const MemoryTracker& tracker) {
  if (!file_) return;
  Lines& lines = file_->lines;
  file_->begin("iteration");
  print(lines, ",\"iteration\":{}", place_.iteration);
  if (std::isfinite(loss)) print(lines, ",\"loss\":{}", loss);
  else print(lines, ",\"loss\":null");
  print(lines, ",\"skipped\":{},\"memory\":{{", skipped);
  for (int c = 0; c < kMemoryCategories; ++c) {
    const Memory category = static_cast<Memory>(c);
    print(lines, "{}\"{}\":[{},{}]", c > 0 ? "," : "", to_string(category), tracker.live(category),
          tracker.peak(category));
  }
  print(lines, "}},\"total\":[{},{}]", tracker.live_total(), tracker.peak_total());
  if (tracker.budget() == MemoryTracker::kUnlimited) print(lines, ",\"budget\":null");
  else print(lines, ",\"budget\":{}", tracker.budget());
  const bool last = file_->iterations == 1;
  if (file_->iterations > 1) --file_->iterations;
  if (!file_->end(true)) file_.reset();
  else if (last) finish("iterations", {});
}

void Trace::failed(std::string_view message) { finish("failed", message); }

void Trace::close() {
  if (file_) file_->wait();
  finish("closed", {});
}

void Trace::finish(std::string_view reason, std::string_view message) {
  if (!file_) return;
  file_->give_up();
  file_->begin("end");
  print_key(file_->lines, "reason", reason);
  print_key_or_null(file_->lines, "message", message);
  file_->end(true);
  file_.reset();
}

}  // namespace zero
