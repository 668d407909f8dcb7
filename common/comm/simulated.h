// Ranks that are simulated: fibers of one thread, whose messages carry virtual time.
#pragma once

#include <cstdint>
#include <memory>

#include "common/comm/transport.h"
#include "common/comm/world.h"
#include "common/device/simulated/hardware.h"

namespace zero {

class SimulatedCluster;  // what the ranks share

// How long a message takes: a tensor of b bytes that is sent at time s arrives at
//   max(s + latency + b / bandwidth, r + b / bandwidth)
// where r is when the receiver began to wait: a rank takes in one message at a time. The sender
// goes on at s + latency + b / bandwidth. Scalars and control messages take
// Hardware::control_seconds.
class SimulatedTransport : public Transport {
 public:
  SimulatedTransport(SimulatedCluster& cluster, int rank);

  int rank() const override { return rank_; }
  int world_size() const override;
  VirtualClock* virtual_clock() override;

  void abort(const std::string& reason) noexcept override;
  void check_peers(const Hop* hop) override;
  void start_send(int to, std::span<const std::byte> bytes, const Hop* hop) override;
  void finish_send(int to, const Hop* hop) override;
  void receive_bytes(int from, std::span<std::byte> bytes, const Hop* hop) override;
  void exchange_scalars(int to, std::span<const std::byte> out, int from, std::span<std::byte> in,
                        const Hop* during) override;
  void all_gather_scalars(std::span<const std::byte> mine, std::span<std::byte> all,
                          const Hop* during) override;

  // For a collective that is not sent message by message: waits until every rank has come here;
  // then all of them go on `duration` after the last one came. `sent` tensor bytes count as sent by
  // this rank. A wait that cannot end throws, as those for messages do.
  void meet(Picoseconds duration, std::int64_t sent, const Hop& hop);

  const Hardware& hardware() const;

 private:
  void check_that_there_are_others(const Hop* hop) const;

  SimulatedCluster& cluster_;
  const int rank_;
};

// Runs `program` on `world_size` simulated ranks, one after the other wherever each has to wait, in
// an order that depends on the program alone. As run_on_threads does, it prints what failed, and
// returns 0 or 1; ranks that all wait for each other fail at once. With `representative` rank 0
// alone is run and stands for all: whatever it would get from others is what it sends itself (then
// no tensor can be sent message by message: std::logic_error).
int run_on_simulated_cluster(const Hardware& hardware, int world_size, bool representative,
                             const RankProgram& program);

}  // namespace zero
