// Streams: when work is done, and by whom.
#include "streams.h"

#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

using namespace zero::emulator;

void CUstream_st::put(Work work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  switch (settings().streams) {
    case StreamMode::eager:
      finish();
      break;
    case StreamMode::lazy:
      break;
    case StreamMode::threads: {
      const std::lock_guard lock(mutex_);
      if (!started_) {
        started_ = true;
        std::thread([self = shared_from_this()] { self->work_until_closed(); }).detach();
      }
      changed_.notify_all();
      break;
    }
  }
}

bool CUstream_st::idle() {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !busy_;
}

// Does one piece of work on this thread; false when there is none.
bool CUstream_st::do_first() {
  Work work;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return false;
    work = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
  }
  work();
  work = nullptr;  // what it holds is let go before anybody hears that it is done
  const std::lock_guard lock(mutex_);
  busy_ = false;
  changed_.notify_all();
  return true;
}

bool CUstream_st::try_one() {
  if (settings().streams == StreamMode::threads) return false;
  const std::unique_lock turn(turn_, std::try_to_lock);
  return turn.owns_lock() && do_first();
}

void CUstream_st::finish() {
  if (settings().streams == StreamMode::threads) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
    return;
  }
  const std::lock_guard turn(turn_);
  while (do_first()) {
  }
}

void CUstream_st::close() {
  if (settings().streams != StreamMode::threads) return finish();
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void CUstream_st::work_until_closed() {
  cudaSetDevice(device);
  for (;;) {
    while (do_first()) {
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    if (closed_ && queue_.empty()) return;
  }
}

namespace zero::emulator {
namespace {

// Never destroyed: streams may be at work until the very end of the program.
struct Streams {
  std::shared_mutex mutex;
  std::map<cudaStream_t, std::shared_ptr<CUstream_st>> created;
  std::map<int, std::shared_ptr<CUstream_st>> of_device;  // default streams
};
Streams& streams() {
  static Streams* const streams = new Streams;
  return *streams;
}

std::shared_ptr<CUstream_st> default_stream(int device) {
  {
    const std::shared_lock lock(streams().mutex);
    const auto found = streams().of_device.find(device);
    if (found != streams().of_device.end()) return found->second;
  }
  const std::unique_lock lock(streams().mutex);
  std::shared_ptr<CUstream_st>& stream = streams().of_device[device];
  if (stream == nullptr) stream = std::make_shared<CUstream_st>(device);
  return stream;
}

}  // namespace

std::shared_mutex& kernels() {
  static std::shared_mutex* const mutex = [] {
    std::atexit([] { kernels().lock(); });
    return new std::shared_mutex;
  }();
  return *mutex;
}

std::shared_ptr<CUstream_st> find_stream(cudaStream_t handle) {
  if (handle == nullptr) return default_stream(current_device());
  const std::shared_lock lock(streams().mutex);
  const auto found = streams().created.find(handle);
  return found == streams().created.end() ? nullptr : found->second;
}

void enqueue(cudaStream_t stream, Work work) { find_stream(stream)->put(std::move(work)); }
void finish(cudaStream_t stream) { find_stream(stream)->finish(); }
bool is_stream(cudaStream_t stream) { return find_stream(stream) != nullptr; }
int device_of(cudaStream_t stream) { return find_stream(stream)->device; }

void finish_device(int device) {
  std::vector<std::shared_ptr<CUstream_st>> all = {default_stream(device)};
  {
    const std::shared_lock lock(streams().mutex);
    for (const auto& [handle, stream] : streams().created) {
      if (stream->device == device) all.push_back(stream);
    }
  }
  for (const auto& stream : all) stream->finish();
}

}  // namespace zero::emulator

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const cudaError_t error = check_device(current_device());
  if (error != cudaSuccess) return tell(error);
  if (flags != cudaStreamNonBlocking) fail("only streams with cudaStreamNonBlocking are emulated");
  const auto created = std::make_shared<CUstream_st>(current_device());
  const std::unique_lock lock(streams().mutex);
  streams().created[created.get()] = created;
  *stream = created.get();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::shared_ptr<CUstream_st> found = stream == nullptr ? nullptr : find_stream(stream);
  if (found == nullptr) return tell(cudaErrorInvalidResourceHandle);
  {
    const std::unique_lock lock(streams().mutex);
    streams().created.erase(stream);
  }
  found->close();
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::shared_ptr<CUstream_st> found = find_stream(stream);
  if (found == nullptr) return tell(cudaErrorInvalidResourceHandle);
  found->finish();
  return cudaSuccess;
}

// Asking is a way of waiting: a lazy stream, too, does something each time, so that a loop that
// asks comes to its end.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const std::shared_ptr<CUstream_st> found = find_stream(stream);
  if (found == nullptr) return tell(cudaErrorInvalidResourceHandle);
  if (found->idle()) return cudaSuccess;
  found->try_one();
  return tell(cudaErrorNotReady);
}
