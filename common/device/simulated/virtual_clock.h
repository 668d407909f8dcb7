// Time in a simulation: it passes only when somebody says so.
#pragma once

#include <algorithm>
#include <cstdint>

namespace zero {

// Whole numbers, so that the same command gives the same times; 2^63 of them are 106 days.
using Picoseconds = std::int64_t;
inline constexpr double kPicosecondsPerSecond = 1e12;
inline double to_seconds(Picoseconds time) {
  return static_cast<double>(time) / kPicosecondsPerSecond;
}

// One rank's clock. Its GPU's operators advance it, and the messages that it waits for: a rank
// computes or communicates, never both at once, as the stage programs are written.
class VirtualClock {
 public:
  Picoseconds now() const { return now_; }
  void compute(Picoseconds duration) {
    now_ += duration;
    computing_ += duration;
  }
  // Goes on at `moment`, unless it is past already.
  void communicate_until(Picoseconds moment) {
    const Picoseconds later = std::max(now_, moment);
    communicating_ += later - now_;
    now_ = later;
  }

  // How much of now() was spent in operators, and in messages and waiting for others.
  Picoseconds computing() const { return computing_; }
  Picoseconds communicating() const { return communicating_; }

 private:
  Picoseconds now_ = 0;
  Picoseconds computing_ = 0;
  Picoseconds communicating_ = 0;
};

}  // namespace zero
