// What all algorithms have in common: checks, agreement between the ranks, scalars.
#include "common/comm/communicator.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <stdexcept>

#include "common/comm/algorithms.h"

namespace zero {
namespace {

// What a rank is about to do, as it tells its neighbour. No padding bytes.
struct Intent {
  std::int64_t collective;
  std::int64_t begin, end;
  std::int64_t shard_size;
  std::array<char, 24> name;
  std::int32_t algorithm;
  std::int32_t owner;
  std::int32_t dtype;
  std::int32_t world_size;

  bool operator==(const Intent&) const = default;
};
static_assert(sizeof(Intent) == 72);

std::string describe(const Intent& intent) {
  const std::string owner = intent.owner < 0 ? "" : fmt::format(", owner {}", intent.owner);
  const std::string shards =
      intent.shard_size < 0 ? "" : fmt::format(", shards of {}", intent.shard_size);
  return fmt::format("collective {} is {} ({}) of [{}, {}) in {}{}{}", intent.collective,
                     intent.name.data(), to_string(static_cast<Algorithm>(intent.algorithm)),
                     intent.begin, intent.end, to_string(static_cast<Dtype>(intent.dtype)), owner,
                     shards);
}

}  // namespace

std::string_view to_string(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
      return "ring";
    case Algorithm::direct:
      return "direct";
    case Algorithm::library:
      return "library";
  }
  return "unknown";
}

std::unique_ptr<Communicator> make_communicator(Algorithm algorithm, Transport& transport,
                                                Device& device, Trace& trace, Dtype wire,
                                                std::int64_t chunk) {
  if (chunk < 1) throw std::invalid_argument("a chunk has at least one element");
  switch (algorithm) {
    case Algorithm::ring:
      return make_ring_communicator(transport, device, trace, wire, chunk);
    case Algorithm::direct:
      return make_direct_communicator(transport, device, trace, wire, chunk);
    case Algorithm::library:
      return transport.make_library_communicator(device, trace, wire, chunk);
  }
  throw std::invalid_argument("no such algorithm");
}

Communicator::Communicator(Algorithm algorithm, Transport& transport, Device& device, Trace& trace,
                           Dtype wire)
    : transport_(transport), device_(device), trace_(trace), wire_(wire), algorithm_(algorithm) {}

void Communicator::all_reduce(View buffer, const Partition& partition) {
  check_partition("all_reduce", partition);
  check_view("all_reduce", buffer, partition.all());
  if (begin("all_reduce", partition.all(), -1, partition.shard_size())) {
    do_all_reduce(buffer, partition);
  }
  end();
}

void Communicator::reduce_scatter(View buffer, const Partition& partition) {
  check_partition("reduce_scatter", partition);
  check_view("reduce_scatter", buffer, partition.all());
  if (begin("reduce_scatter", partition.all(), -1, partition.shard_size())) {
    do_reduce_scatter(buffer, partition);
  }
  end();
}

void Communicator::all_gather(View buffer, const Partition& partition) {
  check_partition("all_gather", partition);
  check_view("all_gather", buffer, partition.all());
  if (begin("all_gather", partition.all(), -1, partition.shard_size())) {
    do_all_gather(buffer, partition);
  }
  end();
}

void Communicator::reduce(View send, View receive, const Piece& piece) {
  check_piece("reduce", piece);
  check_view("reduce", send, piece.range);
  if (rank() == piece.owner) check_view("reduce", receive, piece.range);
  if (begin("reduce", piece.range, piece.owner, -1)) {
    do_reduce(send, receive, piece);
  } else if (!piece.range.empty()) {
    copy_own(send[piece.range], receive[piece.range]);  // K = 1
  }
  end();
}

void Communicator::broadcast(View send, View receive, const Piece& piece) {
  check_piece("broadcast", piece);
  if (rank() == piece.owner) check_view("broadcast", send, piece.range);
  check_view("broadcast", receive, piece.range);
  if (begin("broadcast", piece.range, piece.owner, -1)) {
    do_broadcast(send, receive, piece);
  } else if (!piece.range.empty()) {
    copy_own(send[piece.range], receive[piece.range]);  // K = 1
  }
  end();
}

double Communicator::global_norm(View grads, const Partition& partition) {
  check_partition("global_norm", partition);
  check_view("global_norm", grads, partition.shard(rank()));
  const View own = grads[partition.shard(rank())];
  double total = 0;
  for (const double squares : all_gather_scalar(device_.sum_of_squares(own))) total += squares;
  return std::sqrt(total);
}

Hop Communicator::hop(int step, int steps, std::int64_t chunk, int source, int destination,
                      Effect effect, Range range) const {
  Hop hop = current_;
  hop.step = step;
  hop.steps = steps;
  hop.chunk = chunk;
  hop.source = source;
  hop.destination = destination;
  hop.effect = effect;
  hop.range = range;
  return hop;
}

void Communicator::copy_own(View from, View to) {
  if (&from.allocation() == &to.allocation()) return;
  device_.copy(from, to);
  trace_.moved(hop(1, 1, 0, rank(), rank(), Effect::copy, to.range()), from, to);
}

bool Communicator::begin(std::string_view name, Range range, int owner, std::int64_t shard_size) {
  current_ = Hop{};
  current_.collective = ++collectives_;
  current_.name = name;
  current_.algorithm = to_string(algorithm_);
  trace_.collective_begins(collectives_, name, current_.algorithm, range, owner);
  Hop during = current_;
  during.step = 0;
  agree(during, range, owner, shard_size);
  return world_size() > 1 && !range.empty();
}

void Communicator::end() { trace_.collective_ends(collectives_); }

void Communicator::check_view(std::string_view name, View view, Range range) const {
  if (range.empty()) return;
  if (!view.range().contains(range)) {
    throw std::out_of_range(
        fmt::format("rank {}: {} needs positions [{}, {}); the buffer holds [{}, {})", rank(), name,
                    range.begin, range.end, view.range().begin, view.range().end));
  }
  if (view.dtype() != wire_) {
    throw std::invalid_argument(fmt::format("rank {}: {} needs a buffer of {}, this one is of {}",
                                            rank(), name, to_string(wire_),
                                            to_string(view.dtype())));
  }
}

void Communicator::check_partition(std::string_view name, const Partition& partition) const {
  if (partition.world_size() == world_size()) return;
  throw std::invalid_argument(fmt::format("rank {}: {} of {} shards among {} ranks", rank(), name,
                                          partition.world_size(), world_size()));
}

void Communicator::check_piece(std::string_view name, const Piece& piece) const {
  if (piece.owner >= 0 && piece.owner < world_size() && piece.range.size() >= 0) return;
  throw std::invalid_argument(fmt::format("rank {}: {} of [{}, {}) with owner {} among {} ranks",
                                          rank(), name, piece.range.begin, piece.range.end,
                                          piece.owner, world_size()));
}

void Communicator::agree(const Hop& during, Range range, int owner, std::int64_t shard_size) {
  if (world_size() == 1) return;
  Intent mine{during.collective,
              range.begin,
              range.end,
              shard_size,
              {},
              static_cast<std::int32_t>(algorithm_),
              owner,
              static_cast<std::int32_t>(wire_),
              world_size()};
  during.name.copy(mine.name.data(), mine.name.size() - 1);
  Intent theirs{};
  const int before = after(rank(), -1);
  transport_.exchange_scalars(after(rank(), 1), std::as_bytes(std::span(&mine, 1)), before,
                              std::as_writable_bytes(std::span(&theirs, 1)), &during);
  if (theirs == mine) return;
  theirs.name.back() = 0;
  throw std::runtime_error(
      fmt::format("rank {}, {}: rank {} is doing something else: expected {}; there {}", rank(),
                  zero::describe(&during), before, describe(mine), describe(theirs)));
}

void Communicator::gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all) {
  Hop during;
  during.collective = collectives_;
  during.name = "all_gather_scalar";
  const auto size = mine.size();
  agree(during, {0, static_cast<std::int64_t>(size)}, -1, -1);
  transport_.all_gather_scalars(mine, all, &during);
}

}  // namespace zero
