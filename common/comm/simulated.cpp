// A rank's end of a simulated cluster.
#include "common/comm/simulated.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "common/comm/run_program.h"
#include "common/comm/simulated_cluster.h"

namespace zero {

SimulatedTransport::SimulatedTransport(SimulatedCluster& cluster, int rank)
    : cluster_(cluster), rank_(rank) {}

int SimulatedTransport::world_size() const { return cluster_.world_size(); }
VirtualClock* SimulatedTransport::virtual_clock() { return &cluster_.clock(rank_); }
const Hardware& SimulatedTransport::hardware() const { return cluster_.hardware(); }

void SimulatedTransport::abort(const std::string&) noexcept { cluster_.abort(rank_); }
void SimulatedTransport::check_peers(const Hop* hop) { cluster_.check_peers(rank_, hop); }

void SimulatedTransport::start_send(int to, std::span<const std::byte> bytes, const Hop* hop) {
  check_that_there_are_others(hop);
  cluster_.start_send(rank_, to, bytes, hop);
}

void SimulatedTransport::finish_send(int to, const Hop*) { cluster_.finish_send(rank_, to); }

void SimulatedTransport::receive_bytes(int from, std::span<std::byte> bytes, const Hop* hop) {
  check_that_there_are_others(hop);
  cluster_.receive(from, rank_, bytes, hop);
}

void SimulatedTransport::exchange_scalars(int to, std::span<const std::byte> out, int from,
                                          std::span<std::byte> in, const Hop* during) {
  if (!cluster_.representative()) {
    Transport::exchange_scalars(to, out, from, in, during);
    return;
  }
  count_scalar(std::ssize(out));
  std::copy_n(out.begin(), std::min(out.size(), in.size()), in.begin());
  VirtualClock& mine = cluster_.clock(rank_);
  mine.communicate_until(mine.now() + cluster_.control(1));
}

void SimulatedTransport::all_gather_scalars(std::span<const std::byte> mine,
                                            std::span<std::byte> all, const Hop* during) {
  count_scalar((world_size() - 1) * std::ssize(mine));
  cluster_.gather(rank_, mine, all, during);
}

void SimulatedTransport::meet(Picoseconds duration, std::int64_t sent, const Hop& hop) {
  count_tensor(sent);
  cluster_.meet(rank_, duration, hop);
}

void SimulatedTransport::check_that_there_are_others(const Hop* hop) const {
  if (!cluster_.representative()) return;
  throw std::logic_error(
      fmt::format("rank {}, {}: stands for all ranks, and cannot send or receive by itself", rank_,
                  describe(hop)));
}

int run_on_simulated_cluster(const Hardware& hardware, int world_size, bool representative,
                             const RankProgram& program) {
  SimulatedCluster cluster(hardware, world_size, representative);
  bool failed = false;
  const auto run_rank = [&](int rank) {
    SimulatedTransport transport(cluster, rank);
    if (run_program(transport, program)) {
      cluster.end(rank);
    } else {
      failed = true;
      cluster.abort(rank);
    }
  };
  try {
    cluster.run(run_rank);
  } catch (const std::runtime_error& error) {  // no memory for the stacks: nothing has run
    std::fputs(fmt::format("cannot simulate {} ranks: {}\n", world_size, error.what()).c_str(),
               stderr);
    return 1;
  }
  return failed ? 1 : 0;
}

}  // namespace zero
