// A function for the way of one unit's gradients; the shard of them lives for an iteration.
#include "common/train/rank.h"

namespace zero {
namespace {

constexpr ClosedForm kClosedForm{.parameters = Kept::whole,
                                 .gradients = Kept::shard,
                                 .optimizer_states = Kept::shard,
                                 .passes = 2};

// From the backward of a unit to its average at the owners, who hold it in `shard`.
void backward_and_reduce(Rank& rank, const Partition& partition, const Unit& unit, View params,
                         View shard, Activations& activations) {
  rank.step("2. Backward", unit);
  const Buffer local = rank.allocate(Memory::temporary, "local", unit.range());
  unit.backward(params[unit.range()], local, activations);
  rank.step("3. Reduce", unit);
  // From the last owner to the first: the order of the pieces is the same on every rank.
  const auto pieces = partition.pieces(unit.range());
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
    rank.comm.reduce(local, shard, *piece);
}

void train(Rank& rank) {
  const Partition partition(rank.model.num_parameters(), rank.comm.world_size());
  const Range own = partition.shard(rank.comm.rank());
  Buffer params = rank.allocate(Memory::parameters, "params", partition.all());
  rank.model.initialize(params);
  AdamW adam(rank, params[own]);
  LossScaler scaler(rank.options);

  while (const auto batch = rank.next_batch()) {
    Activations activations(rank, *batch, scaler.scale());
    rank.step("1. Forward");
    for (const Unit& unit : rank.model.units()) unit.forward(params[unit.range()], activations);

    Buffer shard = rank.allocate(Memory::gradients, "shard", own);
    for (const Unit& unit : rank.model.units_reversed())
      backward_and_reduce(rank, partition, unit, params, shard, activations);

    rank.step("4. Update");
    double squares = 0;
    for (const double part : rank.comm.all_gather_scalar(rank.device.sum_of_squares(shard)))
      squares += part;
    const GradientNorm norm = scaler.unscale(std::sqrt(squares));
    if (norm.is_finite()) {
      adam.step(shard, norm.factor);
      adam.copy_master_to(params[own]);
    }
    shard.release();
    scaler.update(norm);

    rank.step("6. Gather");
    for (int owner = 0; owner < rank.comm.world_size(); ++owner)
      rank.comm.broadcast(params, params, {partition.shard(owner), owner});
    rank.report(activations.loss(), norm, params, adam);
  }
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) { return zero::launch(argc, argv, zero::train, zero::kClosedForm); }
