// The collectives' definition in plain loops, and the check of a communicator against it.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/comm/communicator.h"
#include "tests/plain_device.h"

namespace zero {

// Rank `rank`'s value at position i, before anything is reduced: between -2 and 2, in `dtype`.
inline float contribution(int rank, std::int64_t i, Dtype dtype) {
  std::uint64_t x = static_cast<std::uint64_t>(i) * 64 + static_cast<std::uint64_t>(rank) + 1;
  for (int round = 0; round < 3; ++round) x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15ull;
  const double unit = static_cast<double>(x >> 11) * 0x1p-53;
  return round_to(static_cast<float>(4 * unit - 2), dtype);
}

// The average of one element over g[0] ... g[K-1], as communicator.h defines it.
inline float average(const std::vector<float>& g, int owner, Algorithm algorithm, Dtype dtype) {
  const int K = static_cast<int>(g.size());
  const auto at = [&](int rank) { return g[static_cast<std::size_t>(rank % K)]; };
  if (K == 1) return g[0];
  if (algorithm == Algorithm::direct) {
    float sum = g[0];
    for (int r = 1; r < K; ++r) sum = sum + at(r);
    return round_to(sum / static_cast<float>(K), dtype);
  }
  float sum = at(owner + 1);
  for (int r = owner + 2; r < owner + K; ++r) sum = round_to(sum + at(r), dtype);
  return round_to((sum + at(owner)) / static_cast<float>(K), dtype);
}

inline float average_at(std::int64_t i, int owner, int K, Algorithm algorithm, Dtype dtype) {
  std::vector<float> g;
  for (int r = 0; r < K; ++r) g.push_back(contribution(r, i, dtype));
  return average(g, owner, algorithm, dtype);
}

// One rank with its memory and communicator.
struct Member {
  Member(Transport& transport, Algorithm algorithm, Dtype wire, std::int64_t chunk)
      : device(tracker, transport.rank()),
        dtype(wire),
        comm(make_communicator(algorithm, transport, device, trace, wire, chunk)) {}

  Buffer filled(Range range) {
    Buffer buffer = device.allocate(Memory::gradients, "test", dtype, range);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      store(buffer, i - range.begin, contribution(comm->rank(), i, dtype));
    }
    return buffer;
  }
  Buffer garbage(Range range) {  // NaN
    return device.allocate(Memory::gradients, "test", dtype, range);
  }

  Place place;
  MemoryTracker tracker{place};
  Trace trace{place};
  PlainDevice device;
  Dtype dtype;
  std::unique_ptr<Communicator> comm;
};

// Runs every collective and compares each element and each rank's bytes with the definition.
// Throws std::logic_error at the first difference. `tolerance` is relative to the largest value; 0:
// the same bits.
class DefinitionCheck {
 public:
  DefinitionCheck(Transport& transport, Algorithm algorithm, Dtype dtype, std::int64_t N,
                  std::int64_t chunk, float tolerance = 0)
      : member_(transport, algorithm, dtype, chunk),
        algorithm_(algorithm),
        partition_(N, transport.world_size()),
        tolerance_(tolerance),
        where_(fmt::format("{}, {}, K = {}, N = {}, chunks of {}", to_string(algorithm),
                           to_string(dtype), transport.world_size(), N, chunk)) {}

  void run() {
    whole_vector();
    every_root();
    pieces_of_units();
    scalars();
  }

 private:
  Communicator& comm() { return *member_.comm; }
  int rank() { return comm().rank(); }
  int K() { return comm().world_size(); }
  int owner_of(std::int64_t i) { return static_cast<int>(i / partition_.shard_size()); }
  float own(std::int64_t i) { return contribution(rank(), i, member_.dtype); }
  float expected(std::int64_t i, int owner) {
    return average_at(i, owner, K(), algorithm_, member_.dtype);
  }

  void require(bool good, const std::string& what) {
    if (!good) throw std::logic_error(fmt::format("{} ({})", what, where_));
  }
  // `positions` of `buffer` hold what `value` says; exactly, where it is only copied.
  template <class Value>
  void require_values(const char* what, View buffer, Range positions, float tolerance,
                      Value value) {
    for (std::int64_t i = positions.begin; i < positions.end; ++i) {
      const float is = load(buffer, i - buffer.range().begin);
      const float should = value(i);
      const bool good = tolerance == 0 ? is == should : std::abs(is - should) <= tolerance * 2;
      require(good, fmt::format("{}: position {} is {}, expected {}", what, i, is, should));
    }
  }
  // Library bytes cannot be seen.
  void require_bytes(const char* what, std::int64_t before, std::int64_t elements) {
    const std::int64_t sent = comm().tensor_bytes_sent() - before;
    const std::int64_t bytes =
        algorithm_ == Algorithm::library ? 0 : elements * bytes_of(member_.dtype);
    require(sent == bytes, fmt::format("{} sent {} bytes, expected {}", what, sent, bytes));
  }

  void whole_vector() {
    const Range all = partition_.all();
    const Range mine = partition_.shard(rank());
    const std::int64_t share = partition_.shard_size() * (K() - 1);
    const auto own_value = [&](std::int64_t i) { return own(i); };
    const auto mean = [&](std::int64_t i) { return expected(i, owner_of(i)); };

    Buffer buffer = member_.filled(all);
    std::int64_t before = comm().tensor_bytes_sent();
    comm().reduce_scatter(buffer, partition_);
    require_bytes("reduce_scatter", before, share);
    require_values("reduce_scatter, own shard", buffer, mine, tolerance_, mean);
    require_values("reduce_scatter, untouched", buffer, {0, mine.begin}, 0, own_value);
    require_values("reduce_scatter, untouched", buffer, {mine.end, all.end}, 0, own_value);

    buffer = member_.filled(all);
    before = comm().tensor_bytes_sent();
    comm().all_reduce(buffer, partition_);
    require_bytes("all_reduce", before, 2 * share);
    require_values("all_reduce", buffer, all, tolerance_, mean);

    buffer = member_.garbage(all);
    for (std::int64_t i = mine.begin; i < mine.end; ++i) store(buffer, i, own(i));
    before = comm().tensor_bytes_sent();
    comm().all_gather(buffer, partition_);
    require_bytes("all_gather", before, share);
    require_values("all_gather", buffer, all, 0,
                   [&](std::int64_t i) { return contribution(owner_of(i), i, member_.dtype); });
  }

  // The same piece to and from every rank; its ends are not those of a shard.
  void every_root() {
    const std::int64_t size = partition_.all().end;
    const Range range{size / 5, size - size / 7};
    for (int owner = 0; owner < K(); ++owner) {
      const Piece piece{range, owner};
      Buffer send = member_.filled({0, size});
      Buffer receive = member_.garbage(rank() == owner ? range : Range{});
      std::int64_t before = comm().tensor_bytes_sent();
      comm().reduce(send, receive, piece);
      require_bytes("reduce", before, rank() == owner ? 0 : range.size());
      const auto mean = [&](std::int64_t i) { return expected(i, owner); };
      if (rank() == owner) require_values("reduce", receive, range, tolerance_, mean);
      require_values("reduce, input", send, {0, size}, 0, [&](std::int64_t i) { return own(i); });

      comm().reduce(send, send, piece);  // in place
      if (rank() == owner) require_values("reduce in place", send, range, tolerance_, mean);
      else
        require_values("reduce in place, others", send, range, 0,
                       [&](std::int64_t i) { return own(i); });

      send = member_.filled(rank() == owner ? range : Range{});
      receive = member_.garbage({0, size});
      before = comm().tensor_bytes_sent();
      comm().broadcast(send, receive, piece);
      const bool quiet =
          algorithm_ == Algorithm::ring ? rank() == (owner + K() - 1) % K() : rank() != owner;
      const std::int64_t copies = K() == 1 || quiet                 ? 0
                                  : algorithm_ == Algorithm::direct ? K() - 1
                                                                    : 1;
      require_bytes("broadcast", before, copies * range.size());
      const auto owners = [&](std::int64_t i) { return contribution(owner, i, member_.dtype); };
      require_values("broadcast", receive, range, 0, owners);

      Buffer both = rank() == owner ? member_.filled(range) : member_.garbage(range);
      comm().broadcast(both, both, piece);  // in place
      require_values("broadcast in place", both, range, 0, owners);
    }
  }

  // Unequal units, some of which straddle shards: together every rank sends its share.
  void pieces_of_units() {
    const std::int64_t size = partition_.all().end;
    const Range mine = partition_.shard(rank());
    Buffer shard = member_.garbage(mine);
    const std::int64_t before = comm().tensor_bytes_sent();
    for (std::int64_t begin = 0, step = 1; begin < size; begin += step, step = step * 3 % 101 + 1) {
      const Range unit{begin, std::min(begin + step, size)};
      Buffer grads = member_.filled(unit);
      for (const Piece& piece : partition_.pieces(unit)) comm().reduce(grads, shard, piece);
    }
    require_bytes("all reduces", before, partition_.shard_size() * (K() - 1));
    require_values("reduces", shard, mine, tolerance_,
                   [&](std::int64_t i) { return expected(i, rank()); });

    shard = member_.filled(mine);
    const std::int64_t start = comm().tensor_bytes_sent();
    for (std::int64_t begin = 0, step = 2; begin < size; begin += step, step = step * 3 % 97 + 1) {
      const Range unit{begin, std::min(begin + step, size)};
      Buffer params = member_.garbage(unit);
      for (const Piece& piece : partition_.pieces(unit)) comm().broadcast(shard, params, piece);
      require_values("broadcasts", params, unit, 0,
                     [&](std::int64_t i) { return contribution(owner_of(i), i, member_.dtype); });
    }
    require_bytes("all broadcasts", start, partition_.shard_size() * (K() - 1));
  }

  void scalars() {
    const auto values = comm().all_gather_scalar(rank() * 10 + 1);
    for (int r = 0; r < K(); ++r) {
      require(values[static_cast<std::size_t>(r)] == r * 10 + 1, "all_gather_scalar");
    }
    Buffer shard = member_.filled(partition_.shard(rank()));
    double squares = 0;
    for (int r = 0; r < K(); ++r) {
      double part = 0;
      for (std::int64_t i = partition_.shard(r).begin; i < partition_.shard(r).end; ++i) {
        const double g = contribution(r, i, member_.dtype);
        part += g * g;
      }
      squares += part;
    }
    require(comm().global_norm(shard, partition_) == std::sqrt(squares), "global_norm");
  }

  Member member_;
  Algorithm algorithm_;
  Partition partition_;
  float tolerance_;
  std::string where_;
};

}  // namespace zero
