// Streams and events, as they are used; run with eager, with lazy streams and with those of
// threads.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "catch.h"
#include "device_data.h"
#include "emulator.h"
#include "sample_kernels.h"

namespace zero {
namespace {

using emulator::settings;
using emulator::StreamMode;

constexpr int kN = 300;

std::vector<float> filled(float with) { return std::vector<float>(kN, with); }

std::size_t free_memory() {
  std::size_t free = 0, total = 0;
  must(cudaMemGetInfo(&free, &total));
  return free;
}

class Event {
 public:
  explicit Event(unsigned flags = cudaEventDisableTiming) {
    must(cudaEventCreateWithFlags(&event_, flags));
  }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

TEST_CASE("Work of one stream is done in its order") {
  const DeviceData<float> one(filled(1)), x(filled(0)), y(filled(0));
  const Stream stream;
  for (int i = 0; i < 4; ++i) {
    must(add(y.get(), x.get(), one.get(), kN, stream));
    must(cudaMemcpyAsync(x.get(), y.get(), kN * sizeof(float), cudaMemcpyDeviceToDevice, stream));
  }
  stream.finish();
  CHECK(x.read() == filled(4));
}

TEST_CASE("A stream that waits for an event sees what was done before it") {
  const DeviceData<float> one(filled(1)), x(filled(0)), y(filled(0)), z(filled(0));
  const Stream first, second, third;
  const Event done, done_again;
  must(add(x.get(), one.get(), one.get(), kN, first));
  must(cudaEventRecord(done, first));
  must(cudaStreamWaitEvent(second, done));
  must(add(y.get(), x.get(), one.get(), kN, second));
  must(cudaEventRecord(done_again, second));
  must(cudaStreamWaitEvent(third, done_again));
  must(add(z.get(), y.get(), one.get(), kN, third));
  third.finish();
  CHECK(z.read() == filled(4));
}

TEST_CASE("A wait is for what was recorded when it was called") {
  const DeviceData<float> one(filled(1)), x(filled(0)), y(filled(0));
  const Stream first, second;
  const Event event;
  must(cudaStreamWaitEvent(second, event));  // never recorded: no wait
  must(add(x.get(), one.get(), one.get(), kN, first));
  must(cudaEventRecord(event, first));
  must(cudaStreamWaitEvent(second, event));
  must(cudaEventRecord(event, second));  // the wait before it is not for this one
  must(add(y.get(), x.get(), one.get(), kN, second));
  must(cudaEventSynchronize(event));
  second.finish();
  CHECK(y.read() == filled(3));
}

TEST_CASE("An event may be destroyed while a stream waits for it") {
  const DeviceData<float> one(filled(1)), x(filled(0)), y(filled(0));
  const Stream first, second;
  {
    const Event event;
    must(add(x.get(), one.get(), one.get(), kN, first));
    must(cudaEventRecord(event, first));
    must(cudaStreamWaitEvent(second, event));
  }
  must(add(y.get(), x.get(), one.get(), kN, second));
  second.finish();
  CHECK(y.read() == filled(3));
}

TEST_CASE("Asking again and again comes to an end") {
  const DeviceData<float> one(filled(1)), x(filled(0));
  const Stream stream;
  const Event event;
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaSuccess);  // never recorded
  for (int i = 0; i < 3; ++i) must(add(x.get(), one.get(), one.get(), kN, stream));
  must(cudaEventRecord(event, stream));
  if (settings().streams == StreamMode::lazy) CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  while (cudaEventQuery(event) == cudaErrorNotReady) std::this_thread::yield();
  while (cudaStreamQuery(stream) == cudaErrorNotReady) std::this_thread::yield();
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
  cudaGetLastError();
  CHECK(x.read() == filled(2));
}

TEST_CASE("Events tell how much time has passed between them") {
  const Stream stream;
  const Event start(cudaEventDefault), end(cudaEventDefault), untimed;
  float milliseconds = -1;
  must(cudaEventRecord(start, stream));
  stream.finish();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  must(cudaEventRecord(end, stream));
  must(cudaEventRecord(untimed, stream));
  must(cudaEventSynchronize(end));
  must(cudaEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds >= 20.0f);
  stream.finish();
  CHECK(cudaEventElapsedTime(&milliseconds, start, untimed) == cudaErrorInvalidResourceHandle);
}

TEST_CASE("Ordinary host memory may be changed once a copy to the device was asked for") {
  std::vector<float> host = filled(5);
  const DeviceData<float> x(filled(0));
  const Stream stream;
  must(cudaMemcpyAsync(x.get(), host.data(), kN * sizeof(float), cudaMemcpyHostToDevice, stream));
  for (float& element : host) element = 6;
  CHECK(x.read() == filled(5));
}

TEST_CASE("Pinned host memory is read when the copy's turn comes") {
  float* pinned = nullptr;
  must(cudaMallocHost(&pinned, kN * sizeof(float)));
  for (int i = 0; i < kN; ++i) pinned[i] = 5;
  const DeviceData<float> x(filled(0));
  const Stream stream;
  must(cudaMemcpyAsync(x.get(), pinned, kN * sizeof(float), cudaMemcpyHostToDevice, stream));
  if (settings().streams == StreamMode::lazy) {  // the mistake that lazy streams make visible
    for (int i = 0; i < kN; ++i) pinned[i] = 6;
    CHECK(x.read() == filled(6));
  } else {
    CHECK(x.read() == filled(5));
  }
  must(cudaFreeHost(pinned));
}

TEST_CASE("Memory is freed in the order of its stream") {
  const DeviceData<float> one(filled(1)), to(filled(0));
  const Stream stream;
  const std::size_t before = free_memory();
  float* middle = nullptr;
  must(cudaMallocAsync(&middle, kN * sizeof(float), stream));
  must(cudaMemsetAsync(middle, 0, kN * sizeof(float), stream));
  must(add(to.get(), middle, one.get(), kN, stream));
  must(cudaFreeAsync(middle, stream));
  CHECK(cudaFreeAsync(middle, stream) == cudaErrorInvalidValue);
  if (settings().streams == StreamMode::lazy) CHECK(free_memory() < before);
  stream.finish();
  CHECK(free_memory() == before);
  CHECK(to.read() == filled(1));
  cudaGetLastError();
}

TEST_CASE("With threads the host goes on while a stream is at work, and can see that it is") {
  if (settings().streams != StreamMode::threads) return;
  std::atomic<bool> go = false;
  const Stream stream;
  const Event event;
  emulator::enqueue(stream, [&] {
    while (!go) std::this_thread::yield();
  });
  must(cudaEventRecord(event, stream));
  for (int i = 0; i < 3; ++i) {
    CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
    CHECK(cudaEventQuery(event) == cudaErrorNotReady);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(cudaGetLastError() == cudaErrorNotReady);
  go = true;
  stream.finish();
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaSuccess);
}

TEST_CASE("Two threads of the host wait for each other's streams") {
  const DeviceData<float> one(filled(1)), x(filled(0)), y(filled(0)), z(filled(0));
  const Stream first, second;
  const Event a, b;
  must(add(x.get(), one.get(), one.get(), kN, first));
  must(cudaEventRecord(a, first));
  must(cudaStreamWaitEvent(second, a));
  must(add(y.get(), x.get(), one.get(), kN, second));
  must(cudaEventRecord(b, second));
  must(cudaStreamWaitEvent(first, b));
  must(add(z.get(), y.get(), one.get(), kN, first));
  std::thread other([&] { second.finish(); });
  first.finish();
  other.join();
  CHECK(z.read() == filled(4));
}

TEST_CASE("A stream that is no more is no resource") {
  cudaStream_t gone = nullptr;
  must(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking));
  must(cudaStreamDestroy(gone));
  CHECK(cudaStreamSynchronize(gone) == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaSuccess);
}

}  // namespace
}  // namespace zero
