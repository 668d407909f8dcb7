// Reduces and gathers unit by unit; the reduced gradients stay in the buffer of all gradients.
#include "common/train/rank.h"

namespace zero {

constexpr ClosedForm kClosedForm{.parameters = Kept::whole,
                                 .gradients = Kept::whole,
                                 .optimizer_states = Kept::shard,
                                 .passes = 2};

void train(Rank& rank) {
  auto& comm = rank.comm;
  const auto& units = rank.model.units();
  const Partition shards(rank.model.num_parameters(), comm.world_size());
  const Range own = shards.shard(comm.rank());

  const Buffer parameters = rank.allocate(Memory::parameters, "parameters", shards.all());
  const Buffer gradients = rank.allocate(Memory::gradients, "gradients", shards.all());
  const View p = parameters.view(), g = gradients.view();
  const View own_p = p[own], own_g = g[own];
  rank.model.initialize(p);
  AdamW adam(rank, own_p);
  LossScaler scaler(rank.options);

  while (true) {
    const std::optional<Batch> batch = rank.next_batch();
    if (!batch) break;
    Activations activations(rank, *batch, scaler.scale());
    for (std::size_t i = 0; i < units.size(); ++i) {
      rank.step("1. Forward", units[i]);
      units[i].get().forward(p[units[i].get().range()], activations);
    }
    for (std::size_t i = units.size(); i-- > 0;) {
      const Unit& unit = units[i];
      rank.step("2. Backward", unit);
      unit.backward(p[unit.range()], g[unit.range()], activations);
      rank.step("3. Reduce", unit);
      for (const Piece& piece : shards.pieces(unit.range())) comm.reduce(g, g, piece);
    }
    rank.step("4. Update");
    const GradientNorm norm = scaler.unscale(comm.global_norm(own_g, shards));
    scaler.update(norm);
    if (norm.is_finite()) {
      adam.step(own_g, norm.factor);
      adam.copy_master_to(own_p);
    }
    for (const Unit& unit : units) {
      rank.step("6. Gather", unit);
      for (const Piece& piece : shards.pieces(unit.range())) comm.broadcast(own_p, p, piece);
    }
    rank.report(activations.loss(), norm, p, adam);
  }
}

}  // namespace zero

int main(int argc, char** argv) { return zero::launch(argc, argv, zero::train, zero::kClosedForm); }
