// Ranks as threads, of which a test sees what each has thrown.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/comm/threads.h"

namespace zero {

struct Failure {
  int rank;
  std::string message;
  bool aborted;  // it stopped because another rank had failed
};

// Runs `program` on K ranks; returns what they threw, in order. T is their transport, which is made
// with (group, rank, more...).
template <class T = ThreadTransport, class... More>
std::vector<Failure> run_ranks(int K, double timeout,
                               const std::function<void(Transport&)>& program,
                               const More&... more) {
  ThreadGroup group(K, timeout);
  std::mutex mutex;
  std::vector<Failure> failures;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < K; ++rank) {
    threads.emplace_back([&, rank] {
      T transport(group, rank, more...);
      const auto fail = [&](const char* message, bool aborted) {
        {
          const std::lock_guard lock(mutex);
          failures.push_back({rank, message, aborted});
        }
        transport.abort(message);
      };
      try {
        program(transport);
        group.end(rank);
      } catch (const Aborted& error) {
        fail(error.what(), true);
      } catch (const std::exception& error) {
        fail(error.what(), false);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

}  // namespace zero
