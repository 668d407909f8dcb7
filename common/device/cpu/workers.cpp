// A fixed team of threads: started once, woken for each operator, joined at the end.
#include "common/device/cpu/workers.h"

namespace zero {

Workers::Workers(int threads, void (*on_start)()) : on_start_(on_start) {
  for (int part = 1; part < threads; ++part) threads_.emplace_back(&Workers::work, this, part);
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(Call call, const void* context) {
  {
    const std::lock_guard lock(mutex_);
    call_ = call;
    context_ = context;
    busy_ = size() - 1;
    ++round_;
  }
  changed_.notify_all();
  call(context, 0);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return busy_ == 0; });
}

void Workers::work(int part) {
  on_start_();
  std::int64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || round_ != seen; });
    if (ending_) return;
    seen = round_;
    lock.unlock();
    call_(context_, part);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

}  // namespace zero
