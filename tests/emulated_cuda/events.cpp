// Events: marks in a stream, which other streams and the host can wait for.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "streams.h"

namespace {

using namespace zero::emulator;
using Clock = std::chrono::steady_clock;

// Recorded again and again: the ticket says which time. Shared with the streams that wait, as the
// event may be destroyed meanwhile.
struct Mark {
  std::mutex mutex;
  std::condition_variable changed;
  long recorded = 0, reached = 0;
  Clock::time_point time;
  std::shared_ptr<CUstream_st> stream;  // where it was last recorded

  bool is_reached(long ticket) {
    const std::lock_guard lock(mutex);
    return reached >= ticket;
  }
};

struct Seen {
  long ticket;
  std::shared_ptr<CUstream_st> stream;
};

Seen last_record(Mark& mark) {
  const std::lock_guard lock(mark.mutex);
  return {mark.recorded, mark.stream};
}

void wait_for(Mark& mark, const Seen& seen) {
  if (settings().streams == StreamMode::threads) {
    std::unique_lock lock(mark.mutex);
    mark.changed.wait(lock, [&] { return mark.reached >= seen.ticket; });
    return;
  }
  // Works on the other stream until it is there; if somebody else does already, looks again soon.
  while (!mark.is_reached(seen.ticket)) {
    if (seen.stream->try_one()) continue;
    std::unique_lock lock(mark.mutex);
    mark.changed.wait_for(lock, std::chrono::microseconds(100),
                          [&] { return mark.reached >= seen.ticket; });
  }
}

}  // namespace

struct CUevent_st {
  std::shared_ptr<Mark> mark = std::make_shared<Mark>();
  bool timed = true;
};

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const cudaError_t error = check_device(current_device());
  if (error != cudaSuccess) return tell(error);
  *event = new CUevent_st;
  (*event)->timed = (flags & cudaEventDisableTiming) == 0;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) return tell(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::shared_ptr<CUstream_st> found = find_stream(stream);
  if (event == nullptr || found == nullptr) return tell(cudaErrorInvalidResourceHandle);
  const std::shared_ptr<Mark> mark = event->mark;
  long ticket = 0;
  {
    const std::lock_guard lock(mark->mutex);
    ticket = ++mark->recorded;
    mark->stream = found;
  }
  found->put([mark, ticket] {
    const std::lock_guard lock(mark->mutex);
    mark->reached = ticket;
    mark->time = Clock::now();
    mark->changed.notify_all();
  });
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::shared_ptr<CUstream_st> found = find_stream(stream);
  if (event == nullptr || found == nullptr) return tell(cudaErrorInvalidResourceHandle);
  const std::shared_ptr<Mark> mark = event->mark;
  const Seen seen = last_record(*mark);
  if (seen.ticket == 0) return cudaSuccess;  // never recorded: nothing to wait for
  found->put([mark, seen] { wait_for(*mark, seen); });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (event == nullptr) return tell(cudaErrorInvalidResourceHandle);
  const Seen seen = last_record(*event->mark);
  if (event->mark->is_reached(seen.ticket)) return cudaSuccess;
  seen.stream->try_one();
  return tell(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event == nullptr) return tell(cudaErrorInvalidResourceHandle);
  wait_for(*event->mark, last_record(*event->mark));
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (start == nullptr || end == nullptr) return tell(cudaErrorInvalidResourceHandle);
  Clock::time_point times[2];
  int i = 0;
  for (const cudaEvent_t event : {start, end}) {
    const std::lock_guard lock(event->mark->mutex);
    if (!event->timed || event->mark->recorded == 0) return tell(cudaErrorInvalidResourceHandle);
    if (event->mark->reached < event->mark->recorded) return tell(cudaErrorNotReady);
    times[i++] = event->mark->time;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(times[1] - times[0]).count();
  return cudaSuccess;
}
