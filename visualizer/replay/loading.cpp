// The loading thread: reads, builds, hands over, and looks again.
#include "visualizer/replay/loading.h"

#include <algorithm>
#include <utility>

#include "common/trace/reader.h"

namespace zero::replay {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kShortest = std::chrono::milliseconds(100);  // between two looks at the files
constexpr auto kEnded = std::chrono::milliseconds(500);     // the same, for another run there

}  // namespace

Loading::Loading(std::string directory, Order order, bool follow)
    : thread_(&Loading::work, this, std::move(directory), order, follow) {}

Loading::~Loading() {
  cancel();
  thread_.join();
}

std::shared_ptr<const Run> Loading::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(newest_, nullptr);
}

std::optional<std::string> Loading::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void Loading::work(const std::string& directory, Order order, bool follow) {
  LogReader reader(directory);
  try {
    while (true) {
      const auto start = Clock::now();
      bool changed = false, nothing_yet = false;
      std::optional<std::string> error;
      try {
        changed = reader.read(&progress_);
      } catch (const NoTraceYet& missing) {
        if (!follow) throw;
        error = missing.what();
        nothing_yet = true;
      } catch (const TraceError& wrong) {
        if (!follow) throw;
        error = wrong.what();  // it may be made good yet
      }
      std::shared_ptr<const Run> run;
      if (changed || (!follow && !error)) run = Run::from(reader.log(), order, &progress_);
      progress_.done = 1;
      {
        const std::lock_guard lock(mutex_);
        error_ = std::move(error);
        nothing_yet_ = nothing_yet;
        if (run) newest_ = std::move(run);
      }
      if (!follow) break;
      if (!error_) finished_ = reader.all_ended();
      // A fifth of one processor at most, however long the trace has become.
      const auto pause =
          std::max<Clock::duration>(finished_ ? kEnded : kShortest, 4 * (Clock::now() - start));
      const auto until = Clock::now() + pause;
      while (Clock::now() < until && !progress_.cancelled) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      if (progress_.cancelled) break;
    }
  } catch (const Cancelled&) {
    // Nobody waits for a run any more.
  } catch (const std::exception& failure) {
    const std::lock_guard lock(mutex_);
    error_ = failure.what();
  }
  finished_ = true;
}

}  // namespace zero::replay
