// The ranks of a child: threads, of which one that throws ends the process.
#pragma once

#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "exercises/api/child.h"

namespace zero::exercise {

// Ends the process from any thread, as run_child does where the answer threw: the other ranks may
// wait for this one for ever.
[[noreturn]] inline void end_because_a_rank_threw(const std::string& text) {
  static std::mutex never_released;  // several may throw at once: the first one has the word
  never_released.lock();
  complain(text);
  std::fflush(stderr);
  std::_Exit(answer_threw);
}

// Calls part(rank) for every rank, each in a thread of its own, and waits for all.
template <class F>
void run_ranks(int world_size, F part) {
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([part, rank] {
      try {
        part(rank);
      } catch (const std::exception& error) {
        end_because_a_rank_threw(error.what());
      } catch (...) {
        end_because_a_rank_threw("the answer threw something that is not a std::exception");
      }
    });
  }
}

}  // namespace zero::exercise
