// How bytes get from one rank to another, and how many have left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "common/memory/buffer.h"
#include "common/trace/hop.h"

namespace zero {

class Communicator;
class Device;
class Trace;
class VirtualClock;

// Elements of a message: 256 KiB of fp32. Scratch is a few chunks, however large the model.
inline constexpr std::int64_t kChunk = 64 * 1024;
// The same between GPUs, where a message takes longer to begin than a small one takes to arrive.
inline constexpr std::int64_t kGpuChunk = 1024 * 1024;

// Thrown in a rank that waits when another rank has failed. The launcher prints it after the
// failing rank's own message.
struct Aborted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Point-to-point messages of one rank. Messages between two ranks arrive in the order sent. All
// calls block; a wait that lasts longer than the time-out throws std::runtime_error with the hop it
// waits in and the rank it waits for.
//
// Tensor bytes and scalar bytes (small host values: losses, norms, control messages) are counted
// here, where they leave, and nowhere else.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // `data` may be changed when it returns.
  void send(const Hop& hop, View data);
  // The message must be exactly as long as `data`; std::length_error otherwise.
  void receive(const Hop& hop, View data);
  // Both at once, so that a ring of ranks which all do this cannot deadlock. out and in must not
  // overlap.
  void exchange(const Hop& out_hop, View out, const Hop& in_hop, View in);

  // The same for small host values. `during` says in which collective, for the messages of errors:
  // step 0 is a control message of it.
  virtual void exchange_scalars(int to, std::span<const std::byte> out, int from,
                                std::span<std::byte> in, const Hop* during = nullptr);
  // One small value of each rank, all of one size, in rank order: `all` is world_size times `mine`.
  virtual void all_gather_scalars(std::span<const std::byte> mine, std::span<std::byte> all,
                                  const Hop* during = nullptr);

  // What time it is for this rank in a simulation, which messages and operators advance. Null: time
  // is real.
  virtual VirtualClock* virtual_clock() { return nullptr; }

  // Elements of a message that suit this transport.
  virtual std::int64_t chunk() const { return kChunk; }

  // Whole collectives of its own (MPI's, NCCL's), for Algorithm::library. Throws
  // std::invalid_argument, which says what to do, when there are none.
  virtual std::unique_ptr<Communicator> make_library_communicator(Device& device, Trace& trace,
                                                                  Dtype wire, std::int64_t chunk);

  // This rank has failed: every rank that waits, or will wait, throws Aborted (threads), or is
  // ended (MPI). Does not throw.
  virtual void abort(const std::string& reason) noexcept = 0;
  // Throws Aborted when another rank has failed, as every wait does: for a rank that waits in `hop`
  // for something else.
  virtual void check_peers(const Hop*) {}

  std::int64_t tensor_bytes_sent() const { return tensor_bytes_; }
  std::int64_t scalar_bytes_sent() const { return scalar_bytes_; }

  // Host memory, not counted: what the functions above are made of, and other transports.
  // `hop` is for messages; it may be null for scalars. Between start_send and finish_send the bytes
  // stay unchanged; at most one send to a rank is under way.
  virtual void start_send(int to, std::span<const std::byte> bytes, const Hop* hop) = 0;
  virtual void finish_send(int to, const Hop* hop) = 0;
  virtual void receive_bytes(int from, std::span<std::byte> bytes, const Hop* hop) = 0;

 protected:
  // A tensor on its way: in which step of which collective, and its elements on this rank's device.
  struct Message {
    const Hop& hop;
    View data;
  };
  // Sends the one and receives the other, at the same time; either may be null. Here: tensors in
  // host memory.
  virtual void transfer(const Message* out, const Message* in);

  // For transports that send something without the functions above.
  void count_tensor(std::int64_t bytes) { tensor_bytes_ += bytes; }
  void count_scalar(std::int64_t bytes) { scalar_bytes_ += bytes; }

 private:
  std::int64_t tensor_bytes_ = 0;
  std::int64_t scalar_bytes_ = 0;
};

// "reduce_scatter (ring, collective 12, step 2 of 3)"; "reduce_scatter (ring, collective 12,
// control message)" for step 0; "all_gather_scalar (after collective 12)" without an algorithm; "a
// control message" for null.
std::string describe(const Hop* hop);

}  // namespace zero
