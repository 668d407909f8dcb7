// A function gathers a unit and returns its buffer, whose scope is the unit's use of it.
#include "common/train/rank.h"

namespace zero {
namespace {

constexpr ClosedForm kClosedForm{Kept::shard, Kept::shard, Kept::shard, 3};

struct Sharded {
  Rank& rank;
  Partition partition{rank.model.num_parameters(), rank.comm.world_size()};
  Range own = partition.shard(rank.comm.rank());
  Buffer params = rank.allocate(Memory::parameters, "own params", own);
  Buffer grads = rank.allocate(Memory::gradients, "own grads", own);

  Buffer gathered(const Unit& unit) {
    Buffer whole = rank.allocate(Memory::temporary, "gathered", unit.range());
    for (const auto& [range, owner] : partition.pieces(unit.range()))
      rank.comm.broadcast(params, whole, {range, owner});
    return whole;
  }

  void reduce(const Unit& unit, const Buffer& local) {
    for (const auto& [range, owner] : partition.pieces(unit.range()))
      rank.comm.reduce(local, grads, {range, owner});
  }
};

void train(Rank& rank) {
  Sharded state{rank};
  rank.model.initialize(state.params);
  AdamW adam(rank, state.params);
  LossScaler scaler(rank.options);
  const UnitList& units = rank.model.units();

  while (const auto batch = rank.next_batch()) {
    Activations activations(rank, *batch, scaler.scale());
    for (const Unit& unit : units) {
      rank.step("1. Forward", unit);
      unit.forward(state.gathered(unit), activations);
    }
    for (auto at = units.rbegin(); at != units.rend(); ++at) {
      const Unit& unit = *at;
      rank.step("2. Backward", unit);
      const Buffer local = rank.allocate(Memory::temporary, "local", unit.range());
      unit.backward(state.gathered(unit), local, activations);
      rank.step("3. Reduce", unit);
      state.reduce(unit, local);
    }
    rank.step("4. Update");
    const GradientNorm norm = scaler.unscale(rank.comm.global_norm(state.grads, state.partition));
    scaler.update(norm);
    if (norm.is_finite()) adam.step(state.grads, norm.factor);
    rank.step("5. Copy");
    if (norm.is_finite()) adam.copy_master_to(state.params);
    rank.report(activations.loss(), norm, state.params, adam);
  }
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) { return zero::launch(argc, argv, zero::train, zero::kClosedForm); }
