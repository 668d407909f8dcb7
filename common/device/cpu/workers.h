// A fixed team of threads that share the work of one operator.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace zero {

// The calling thread is part 0; with one thread nothing is started and nothing is locked.
// Who does what depends on the sizes and the number of threads only, never on timing.
class Workers {
 public:
  // Requires threads >= 1. `on_start` is called once by each thread that is started.
  Workers(int threads, void (*on_start)());
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  // Calls body(part, begin, end) for parts that cover [0, n), each a multiple of `grain` long but
  // the last; returns when all are done. The body must not throw.
  template <class Body>
  void split(std::int64_t n, std::int64_t grain, const Body& body) {
    const std::int64_t grains = (n + grain - 1) / grain;
    if (threads_.empty() || grains <= 1) {
      if (n > 0) body(0, std::int64_t{0}, n);
      return;
    }
    const auto run_part = [&](int part) {
      const std::int64_t begin = std::min(n, grains * part / size() * grain);
      const std::int64_t end = std::min(n, grains * (part + 1) / size() * grain);
      if (begin < end) body(part, begin, end);
    };
    run([](const void* context,
           int part) { (*static_cast<const decltype(run_part)*>(context))(part); },
        &run_part);
  }

 private:
  using Call = void (*)(const void* context, int part);

  void run(Call call, const void* context);
  void work(int part);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t round_ = 0;  // how often run() was called
  int busy_ = 0;            // threads that have not finished this round
  bool ending_ = false;
  Call call_ = nullptr;
  const void* context_ = nullptr;
  void (*on_start_)();
  std::vector<std::thread> threads_;
};

}  // namespace zero
