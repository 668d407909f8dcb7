// Ranks as threads of this process.
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <system_error>
#include <thread>
#include <vector>

#include "common/comm/run_program.h"
#include "common/comm/threads.h"
#include "common/comm/world.h"

namespace zero {
namespace {

// The failing rank's message leaves before anyone else learns of the failure: it comes first.
void run_rank(ThreadGroup& group, int rank, const RankProgram& program, std::atomic<bool>& failed) {
  ThreadTransport transport(group, rank);
  if (run_program(transport, program)) {
    group.end(rank);
  } else {
    failed = true;
    group.abort(rank);
  }
}

}  // namespace

int run_on_threads(int world_size, double timeout, const RankProgram& program) {
  ThreadGroup group(world_size, timeout);
  std::atomic<bool> failed = false;
  std::vector<std::thread> threads;
  try {
    for (int rank = 0; rank < world_size; ++rank) {
      threads.emplace_back([&, rank] { run_rank(group, rank, program, failed); });
    }
  } catch (const std::system_error& error) {
    failed = true;
    std::fputs(fmt::format("cannot start {} threads: {}\n", world_size, error.what()).c_str(),
               stderr);
    group.abort(static_cast<int>(threads.size()));
  }
  for (std::thread& thread : threads) thread.join();
  return failed ? 1 : 0;
}

}  // namespace zero
