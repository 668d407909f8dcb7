// Ranks that are processes of MPI_COMM_WORLD: messages.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "common/comm/mpi.h"
#include "common/comm/transport.h"

namespace zero {

class MpiTransport : public Transport {
 public:
  explicit MpiTransport(double timeout_seconds);

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }
  std::unique_ptr<Communicator> make_library_communicator(Device& device, Trace& trace, Dtype wire,
                                                          std::int64_t chunk) override;
  void abort(const std::string& reason) noexcept override;
  void check_peers(const Hop* hop) override;

  void start_send(int to, std::span<const std::byte> bytes, const Hop* hop) override;
  void finish_send(int to, const Hop* hop) override;
  void receive_bytes(int from, std::span<std::byte> bytes, const Hop* hop) override;

 private:
  // Tests until `request` is complete; throws when the peer takes too long.
  MPI_Status wait(MPI_Request& request, int peer, const Hop* hop);

  const std::chrono::duration<double> timeout_;
  int rank_ = 0;
  int world_size_ = 1;
  std::vector<std::vector<MPI_Request>> sends_;  // under way, by destination
  std::optional<Waiting> elsewhere_;             // a wait for something else than a message
};

}  // namespace zero
