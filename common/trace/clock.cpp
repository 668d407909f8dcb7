// The host's steady clock as a clock for traces.
#include "common/trace/clock.h"

#include <chrono>

namespace zero {
namespace {

class WallClock : public Clock {
 public:
  std::string_view name() const override { return "wall"; }
  std::optional<std::int64_t> mark() noexcept override { return now(); }
  std::optional<std::int64_t> next() noexcept override { return std::nullopt; }
  void wait() override {}
  std::int64_t now() noexcept override {
    const std::chrono::nanoseconds since = std::chrono::steady_clock::now() - start_;
    return since.count();
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

std::unique_ptr<Clock> make_wall_clock() { return std::make_unique<WallClock>(); }

}  // namespace zero
