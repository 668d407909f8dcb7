// Gradients are reduced unit by unit while the backward pass goes on, as PyTorch's DDP does.
#include "common/train/rank.h"

namespace zero {

constexpr ClosedForm kClosedForm{Kept::whole, Kept::whole, Kept::whole, 2};

void train(Rank& rank) {
  const Partition partition(rank.model.num_parameters(), rank.comm.world_size());
  const Range all = partition.all();

  Buffer weights = rank.allocate(Memory::parameters, "weights", all);
  Buffer gradients = rank.allocate(Memory::gradients, "gradients", all);
  const View w = weights, g = gradients;
  rank.model.initialize(w);
  AdamW adam(rank, w);
  LossScaler scaler(rank.options);

  const auto average_everywhere = [&](Range range) {
    const std::vector<Piece> pieces = partition.pieces(range);
    for (const Piece& piece : pieces) rank.comm.reduce(g, g, piece);
    for (const Piece& piece : pieces) rank.comm.broadcast(g, g, piece);
  };

  for (auto batch = rank.next_batch(); batch; batch = rank.next_batch()) {
    Activations activations(rank, *batch, scaler.scale());
    rank.step("1. Forward");
    for (const Unit& unit : rank.model.units()) unit.forward(w[unit.range()], activations);

    const UnitList& units = rank.model.units();
    for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
      const Range range = unit->get().range();
      rank.step("2. Backward", *unit);
      unit->get().backward(w[range], g[range], activations);
      rank.step("3. All-reduce of this unit", *unit);
      average_everywhere(range);
    }

    rank.step("4. Update");
    const double scaled = rank.comm.global_norm(g, partition);
    const GradientNorm norm = scaler.unscale(scaled);
    scaler.update(norm);
    if (!norm.is_finite()) {
      rank.step("5. Nothing was updated");
    } else {
      adam.step(g, norm.factor);
      rank.step("5. Copy to 16 bits");
      adam.copy_master_to(w);
    }
    rank.report(activations.loss(), norm, w, adam);
  }
}

}  // namespace zero

int main(int argc, char** argv) { return zero::launch(argc, argv, zero::train, zero::kClosedForm); }
