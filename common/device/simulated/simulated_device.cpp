// The simulated device's memory, which is a number, and its clock.
#include "common/device/simulated/simulated_device.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/device/check.h"
#include "common/memory/bytes.h"

namespace zero {
namespace {

constexpr Picoseconds kPicosecondsPerNanosecond = 1000;

// A moment is over as soon as it is asked for: nothing works behind the program's back.
class SimulatedClock : public Clock {
 public:
  explicit SimulatedClock(const VirtualClock& clock) : clock_(clock) {}

  std::string_view name() const override { return "simulated"; }
  std::optional<std::int64_t> mark() noexcept override { return now(); }
  std::optional<std::int64_t> next() noexcept override { return std::nullopt; }
  void wait() override {}
  std::int64_t now() noexcept override { return clock_.now() / kPicosecondsPerNanosecond; }

 private:
  const VirtualClock& clock_;
};

}  // namespace

SimulatedDevice::SimulatedDevice(MemoryTracker& tracker, HeapObserver* observer, const Gpu& gpu,
                                 int world_size, VirtualClock& clock)
    : Device(tracker, observer, false, 0), gpu_(gpu), world_size_(world_size), clock_(clock) {}

double SimulatedDevice::seconds() {
  return static_cast<double>(clock_.now()) / kPicosecondsPerSecond;
}

std::unique_ptr<Clock> SimulatedDevice::make_clock() {
  return std::make_unique<SimulatedClock>(clock_);
}

// Copies to and from the host take no time: in a step they are a batch's tokens.
void SimulatedDevice::download(View from, std::span<std::byte> to) {
  check_shape("download", from.bytes().size() == to.size(), "sizes in bytes differ");
  std::fill(to.begin(), to.end(), std::byte{0});
}

void SimulatedDevice::upload(std::span<const std::byte> from, View to) {
  check_shape("upload", from.size() == to.bytes().size(), "sizes in bytes differ");
}

std::byte* SimulatedDevice::take(std::int64_t bytes, std::int64_t) {
  const std::int64_t free = gpu_.memory - taken_;
  if (bytes > free) {
    throw OutOfMemory(fmt::format("the {} has no memory left: of its {} only {} are free",
                                  gpu_.name, format_bytes(gpu_.memory), format_bytes(free)));
  }
  taken_ += bytes;
  return nullptr;
}

void SimulatedDevice::give_back(std::byte*, std::int64_t bytes, std::int64_t) { taken_ -= bytes; }

void SimulatedDevice::fill(std::byte*, std::int64_t, std::uint16_t) {}

// Without anything to do no kernel is started.
void SimulatedDevice::work(const Cost& cost, Dtype dtype) {
  if (cost.product_flops == 0 && cost.flops == 0 && cost.bytes == 0) return;
  product_flops_ += cost.product_flops;
  clock_.compute(time_of(cost, dtype, gpu_));
}

std::unique_ptr<Device> make_simulated_device(MemoryTracker& tracker, HeapObserver* observer,
                                              const Gpu& gpu, int world_size, VirtualClock& clock) {
  return std::make_unique<SimulatedDevice>(tracker, observer, gpu, world_size, clock);
}

}  // namespace zero
