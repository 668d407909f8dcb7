// The project's own collectives, traced: each sum in the trace is a set of ranks.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "common/comm/communicator.h"
#include "common/comm/world.h"
#include "common/trace/trace.h"
#include "tests/plain_device.h"

namespace zero {

// Every collective once, with gradients 2^rank in fp32: each sum is a set of ranks.
inline void run_collectives(const std::string& directory, Algorithm algorithm, int K,
                            std::int64_t N) {
  const int status = run_on_threads(K, 60, [&](Transport& transport) {
    Place place;
    MemoryTracker tracker(place);
    Trace trace(place);
    TraceHeader header;
    header.run = "collectives";
    header.rank = transport.rank();
    header.world_size = K;
    header.dtype = "fp32";
    header.num_parameters = N;
    header.padded_parameters = Partition::padded_size(N, K);
    trace.open(directory, header, 0, true);
    PlainDevice device(tracker, transport.rank(), &trace);
    const auto comm =
        make_communicator(algorithm, transport, device, trace, Dtype::fp32, /*chunk=*/4);
    const Partition partition(N, K);
    const auto gradients = [&](const char* name) {
      Buffer buffer = device.allocate(Memory::gradients, name, Dtype::fp32, partition.all());
      for (std::int64_t i = 0; i < buffer.view().size(); ++i) {
        buffer.view().as<float>()[i] = std::ldexp(1.0f, transport.rank());
      }
      device.wrote(buffer, Written::local_gradient);
      return buffer;
    };
    const auto step = [&](const char* banner) {
      ++place.step;
      place.banner = banner;
      trace.step();
    };
    step("1. All-reduce");
    const Buffer all_reduced = gradients("all_reduced");
    comm->all_reduce(all_reduced, partition);
    step("2. Reduce-scatter");
    const Buffer scattered = gradients("scattered");
    comm->reduce_scatter(scattered, partition);
    step("3. All-gather");
    const Buffer gathered = gradients("gathered");
    comm->all_gather(gathered, partition);
    step("4. Reduce and broadcast");
    const Buffer sent = gradients("sent");
    const Range mine = partition.shard(transport.rank());
    Buffer shard = device.allocate(Memory::gradients, "shard", Dtype::fp32, mine);
    Buffer whole = device.allocate(Memory::temporary, "whole", Dtype::fp32, partition.all());
    for (const Piece& piece : partition.pieces(partition.all())) {
      comm->reduce(sent, shard, piece);
      comm->broadcast(shard, whole, piece);
    }
    whole.release();
    trace.close();
  });
  if (status != 0) throw std::runtime_error("a rank failed");
}

}  // namespace zero
