// The time of a trace's events on a GPU: when the stream got there, not when it was asked to.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <deque>
#include <vector>

#include "common/device/cuda/cuda_device.h"
#include "common/trace/clock.h"

namespace zero {

// A moment is a CUDA event on the device's stream. May outlive the device: events do.
class CudaClock : public Clock {
 public:
  explicit CudaClock(CudaDevice& device);
  ~CudaClock() override;

  std::string_view name() const override { return "device"; }
  std::optional<std::int64_t> mark() noexcept override;
  std::optional<std::int64_t> next() noexcept override;
  void wait() override { device_.synchronize(); }
  std::int64_t now() noexcept override;

 private:
  // Where no event could be had `event` is null, and `time` says when the program got there.
  struct Moment {
    cudaEvent_t event;
    std::int64_t time;  // nanoseconds since start_
  };
  // Null when there is none: the GPU has failed.
  cudaEvent_t take_event() noexcept;

  CudaDevice& device_;
  std::chrono::steady_clock::time_point start_;
  std::deque<Moment> moments_;      // not told yet
  std::vector<cudaEvent_t> spare_;  // events to be used again

  // Times between two events are fp32 milliseconds: of hours they would say nothing finer than a
  // tenth of a millisecond. So each is measured from the one before, and summed in fp64.
  cudaEvent_t base_ = nullptr;
  double base_time_ = 0;  // nanoseconds since start_
};

}  // namespace zero
