// Loads a run in a thread of its own, and follows it while it grows.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "visualizer/replay/run.h"

namespace zero::replay {

class Loading {
 public:
  // Begins at once. With `follow` a directory without a trace is waited for, and the run is loaded
  // again as it grows. When all ranks have ended it is finished, until another run begins there.
  explicit Loading(std::string directory, Order order = Order::logical, bool follow = false);
  ~Loading();  // cancels
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

  double progress() const { return progress_.done; }  // 0 to 1, of the first load
  void cancel() { progress_.cancelled = true; }

  // The newest run, once: null when there is none since the last call. Never waits for the thread.
  std::shared_ptr<const Run> take();
  bool finished() const { return finished_; }        // nothing new will come
  std::optional<std::string> error() const;          // why there is no run: "FILE:LINE: ..."
  bool nothing_yet() const { return nothing_yet_; }  // it is only that there is nothing to read

 private:
  void work(const std::string& directory, Order order, bool follow);

  Progress progress_;
  std::atomic<bool> finished_ = false, nothing_yet_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<const Run> newest_;
  std::optional<std::string> error_;
  std::thread thread_;
};

}  // namespace zero::replay
