// The time of a trace's events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace zero {

// Times are nanoseconds since the clock was made. They never decrease from one moment to the next.
// On the host's processor a moment's time is known at once. On a device that works behind the
// program's back it is not: an event is told when the program asks for something, and its time is
// when the device gets there. Not thread-safe: one rank, one clock.
class Clock {
 public:
  virtual ~Clock() = default;

  virtual std::string_view name() const = 0;  // "wall", "device" or "simulated"

  // This moment's time. Nothing when it is not known yet: then next() will tell it. Does not throw.
  virtual std::optional<std::int64_t> mark() noexcept = 0;
  // The time of the earliest of the moments that mark() left open and next() has not told. Nothing
  // when there is none, or when it is not known yet.
  virtual std::optional<std::int64_t> next() noexcept = 0;
  // Waits until all of them are known. Throws what the device's own waits throw: a peer has died.
  virtual void wait() = 0;

  // The time of the program itself. Neither waits nor needs the device.
  virtual std::int64_t now() noexcept = 0;
};

// The host's steady clock.
std::unique_ptr<Clock> make_wall_clock();

}  // namespace zero
