// Moments as CUDA events, used again once they have been told.
#include "common/device/cuda/cuda_clock.h"

#include <cmath>

#include "common/device/cuda/cuda_check.h"

namespace zero {

std::unique_ptr<Clock> CudaDevice::make_clock() { return std::make_unique<CudaClock>(*this); }

// The first event ties the GPU's time to the host's: nothing is on the stream yet, so that it comes
// at once, and both are read at the same moment.
CudaClock::CudaClock(CudaDevice& device) : device_(device) {
  check(cudaEventCreate(&base_), "cudaEventCreate");
  device_.synchronize();
  check(cudaEventRecord(base_, device_.stream()), "cudaEventRecord");
  device_.synchronize();
  start_ = std::chrono::steady_clock::now();
}

CudaClock::~CudaClock() {
  cudaEventDestroy(base_);
  for (const Moment& moment : moments_) {
    if (moment.event) cudaEventDestroy(moment.event);
  }
  for (const cudaEvent_t event : spare_) cudaEventDestroy(event);
}

cudaEvent_t CudaClock::take_event() noexcept {
  cudaEvent_t event = nullptr;
  if (!spare_.empty()) {
    event = spare_.back();
    spare_.pop_back();
  } else if (cudaEventCreate(&event) != cudaSuccess) {
    return nullptr;
  }
  if (cudaEventRecord(event, device_.stream()) == cudaSuccess) return event;
  cudaEventDestroy(event);
  return nullptr;
}

// An error of the GPU is told by whoever waits for its results, not here.
std::optional<std::int64_t> CudaClock::mark() noexcept {
  const cudaEvent_t event = take_event();
  if (!event) cudaGetLastError();
  moments_.push_back({event, event ? 0 : now()});
  return std::nullopt;
}

std::optional<std::int64_t> CudaClock::next() noexcept {
  if (moments_.empty()) return std::nullopt;
  const Moment moment = moments_.front();
  if (!moment.event) {
    moments_.pop_front();
    return moment.time;
  }
  float milliseconds = 0;
  if (cudaEventQuery(moment.event) != cudaSuccess ||
      cudaEventElapsedTime(&milliseconds, base_, moment.event) != cudaSuccess) {
    cudaGetLastError();  // not ready, or failed: neither is for the next call to report
    return std::nullopt;
  }
  moments_.pop_front();
  spare_.push_back(base_);
  base_ = moment.event;
  base_time_ += static_cast<double>(milliseconds) * 1e6;
  return std::llround(base_time_);
}

std::int64_t CudaClock::now() noexcept {
  const std::chrono::nanoseconds since = std::chrono::steady_clock::now() - start_;
  return since.count();
}

}  // namespace zero
