// How long something on a GPU takes: warmed up, many calls at a time, the median of several times.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include "tests/benchmark/stages.h"

namespace zero {

struct Pace {
  double seconds;  // that one time should last: calls are repeated, so that starting them is hidden
  int samples;     // how many times are taken
  int most_calls;  // in one time
};

// Seconds for one `call`. Calls may only ask for the work; `wait` returns when all of it is done.
inline double seconds_per_call(const Pace& pace, const std::function<void()>& call,
                               const std::function<void()>& wait) {
  const auto time = [&](int calls) {
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    wait();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began;
    return elapsed.count() / calls;
  };
  wait();
  time(1);  // loads kernels, allocates workspaces
  const double once = std::max(time(1), 1e-7);
  const int calls = static_cast<int>(
      std::clamp(std::ceil(pace.seconds / once), 1.0, static_cast<double>(pace.most_calls)));
  std::vector<double> times;
  for (int i = 0; i < pace.samples; ++i) times.push_back(time(calls));
  return median(times);
}

}  // namespace zero
