// Collectives between ranks whose memory may be a GPU's: what every rank holds afterwards, bit by
// bit, and what it has sent.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/comm/staged.h"
#include "common/train/gpu.h"
#include "tests/collectives.h"

namespace zero::test {

// Where a rank's tensors are and what carries them.
enum class Carrier {
  host,        // in host memory, by the host's transport
  nccl,        // on a GPU of its own, by NCCL
  staged,      // on a GPU of its own, through the host
  staged_one,  // on one GPU for all ranks, through the host
};

// One rank with its memory and communicator, wherever that is.
class GpuMember {
 public:
  GpuMember(Transport& host, Carrier carrier, Algorithm algorithm, Dtype wire, std::int64_t chunk,
            double timeout_seconds = 60)
      : dtype(wire) {
    if (carrier == Carrier::host) {
      device = std::make_unique<PlainDevice>(tracker, host.rank());
    } else {
      const int gpu = carrier == Carrier::staged_one ? 0 : host.rank();
      device = gpu_module().make_device(tracker, nullptr, true, host.rank(), gpu);
    }
    if (carrier == Carrier::nccl) {
      carried = gpu_module().make_nccl_transport(host, *device, timeout_seconds);
    } else if (carrier != Carrier::host) {
      carried = std::make_unique<StagedTransport>(host, *device);
    }
    transport = carried ? carried.get() : &host;
    comm = make_communicator(algorithm, *transport, *device, trace, wire, chunk);
  }

  Buffer filled(Range range) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(range.size() * bytes_of(dtype)));
    with_type(dtype, [&](auto type) {
      using T = decltype(type);
      T* const values = reinterpret_cast<T*>(bytes.data());
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        values[i - range.begin] = narrow<T>(contribution(comm->rank(), i, dtype));
      }
    });
    Buffer buffer = garbage(range);
    device->upload(bytes, buffer);
    return buffer;
  }
  Buffer garbage(Range range) {  // NaN
    return device->allocate(Memory::gradients, "test", dtype, range);
  }
  std::vector<std::byte> bits(View view) {
    std::vector<std::byte> bytes(view.bytes().size());
    device->download(view, bytes);
    return bytes;
  }
  std::vector<float> values(View view) {
    const std::vector<std::byte> bytes = bits(view);
    std::vector<float> values(static_cast<std::size_t>(view.size()));
    with_type(dtype, [&](auto type) {
      const auto* const stored = reinterpret_cast<const decltype(type)*>(bytes.data());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = widen(stored[i]);
    });
    return values;
  }

  Place place;
  MemoryTracker tracker{place};
  Trace trace{place};
  Dtype dtype;
  std::unique_ptr<Device> device;
  std::unique_ptr<Transport> carried;  // null: by the host's
  Transport* transport = nullptr;
  std::unique_ptr<Communicator> comm;
};

// What a rank's buffers hold and what it has sent after every collective, one after the other.
struct Outcome {
  std::vector<std::vector<std::byte>> bits;
  std::vector<std::int64_t> sent;

  bool operator==(const Outcome&) const = default;
};

inline Outcome outcome(GpuMember& member, std::int64_t N) {
  Communicator& comm = *member.comm;
  const Partition partition(N, comm.world_size());
  const Range all = partition.all();
  const Range mine = partition.shard(comm.rank());
  Outcome outcome;
  const auto keep = [&](View view) {
    outcome.bits.push_back(member.bits(view));
    outcome.sent.push_back(comm.tensor_bytes_sent());
  };

  Buffer buffer = member.filled(all);
  comm.reduce_scatter(buffer, partition);
  keep(buffer);
  comm.all_gather(buffer, partition);
  keep(buffer);
  buffer = member.filled(all);
  comm.all_reduce(buffer, partition);
  keep(buffer);

  // A piece whose ends are not those of a shard, to and from every rank; and in place.
  const Range range{all.end / 5, all.end - all.end / 7};
  for (int owner = 0; owner < comm.world_size(); ++owner) {
    const Piece piece{range, owner};
    Buffer send = member.filled(all);
    Buffer receive = member.garbage(range);
    comm.reduce(send, receive, piece);
    keep(receive);
    comm.reduce(send, send, piece);
    keep(send);
    receive = member.garbage(range);
    comm.broadcast(send, receive, piece);
    keep(receive);
    comm.broadcast(send, send, piece);
    keep(send);
  }

  // Many small ones without a wait between them, as ZeRO-3 does.
  Buffer shard = member.filled(mine);
  for (std::int64_t begin = 0, step = 2; begin < all.end; begin += step, step = step * 3 % 97 + 1) {
    const Range unit{begin, std::min(begin + step, all.end)};
    Buffer params = member.garbage(unit);
    for (const Piece& piece : partition.pieces(unit)) comm.broadcast(shard, params, piece);
    Buffer grads = member.filled(unit);
    for (const Piece& piece : partition.pieces(unit)) comm.reduce(grads, shard, piece);
    keep(params);
  }
  keep(shard);
  return outcome;
}

// Against the definition; `tolerance` is relative to the largest value. Throws std::logic_error.
inline void check_library(GpuMember& member, std::int64_t N, float tolerance) {
  Communicator& comm = *member.comm;
  const int K = comm.world_size();
  const Partition partition(N, K);
  const auto require = [&](const char* what, View view, Range positions, float allowed,
                           auto expected) {
    const std::vector<float> values = member.values(view[positions]);
    for (std::int64_t i = positions.begin; i < positions.end; ++i) {
      const float is = values[static_cast<std::size_t>(i - positions.begin)];
      const float should = expected(i);
      if (std::abs(is - should) <= allowed * 2) continue;
      throw std::logic_error(fmt::format("{}, {}, K = {}, N = {}: position {} is {}, expected {}",
                                         what, to_string(member.dtype), K, N, i, is, should));
    }
  };
  const auto mean = [&](std::int64_t i) {
    return average_at(i, 0, K, Algorithm::direct, member.dtype);
  };
  const auto own = [&](std::int64_t i) { return contribution(comm.rank(), i, member.dtype); };
  const Range all = partition.all();
  const Range mine = partition.shard(comm.rank());

  Buffer buffer = member.filled(all);
  comm.reduce_scatter(buffer, partition);
  require("reduce_scatter", buffer, mine, tolerance, mean);
  require("reduce_scatter, untouched", buffer, {0, mine.begin}, 0, own);
  require("reduce_scatter, untouched", buffer, {mine.end, all.end}, 0, own);
  comm.all_gather(buffer, partition);
  require("all_gather", buffer, all, tolerance, mean);
  buffer = member.filled(all);
  comm.all_reduce(buffer, partition);
  require("all_reduce", buffer, all, tolerance, mean);
  for (int owner = 0; owner < K; ++owner) {
    const Range range{all.end / 5, all.end - all.end / 7};
    Buffer send = member.filled(all);
    Buffer receive = member.garbage(comm.rank() == owner ? range : Range{});
    comm.reduce(send, receive, {range, owner});
    if (comm.rank() == owner) require("reduce", receive, range, tolerance, mean);
    require("reduce, input", send, all, 0, own);
    receive = member.garbage(range);
    comm.broadcast(send, receive, {range, owner});
    require("broadcast", receive, range, 0,
            [&](std::int64_t i) { return contribution(owner, i, member.dtype); });
  }
  if (comm.tensor_bytes_sent() != 0) throw std::logic_error("library bytes are not measured");
}

// Sums in another order, each partial sum rounded to the type.
inline float tolerance_of(Dtype dtype) {
  if (dtype == Dtype::fp32) return 1e-6f;
  return dtype == Dtype::fp16 ? 0x1p-9f : 0x1p-6f;
}

}  // namespace zero::test
