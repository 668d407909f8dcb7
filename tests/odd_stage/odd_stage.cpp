// A stage program that is none of the four: whoever simulates it has to run it, because no formula
// knows it. Not to be learnt from: it leaks, gathers what nobody needs, and does things in an odd
// order.
#include <vector>

#include "common/train/rank.h"

namespace zero {

constexpr ClosedForm kClosedForm{.parameters = Kept::whole,
                                 .gradients = Kept::whole,
                                 .optimizer_states = Kept::shard,
                                 .passes = 4};

void train(Rank& rank) {
  Communicator& comm = rank.comm;
  const Model& model = rank.model;
  const Partition partition(model.num_parameters(), comm.world_size());
  const Range mine = partition.shard(comm.rank());
  std::vector<Buffer> leaked;

  // Gradients before parameters, and a buffer of another type and category between them.
  Buffer grads = rank.allocate(Memory::gradients, "grads", partition.all());
  Buffer odd = rank.device.allocate(Memory::communication, "odd", Dtype::fp32, 1 + comm.rank());
  Buffer params = rank.allocate(Memory::parameters, "params", partition.all());
  model.initialize(params);
  AdamW optimizer(rank, params[mine]);
  LossScaler scaler(rank.options);

  while (const auto batch = rank.next_batch()) {
    rank.step("4. An odd number to begin with");
    comm.all_gather(params, partition);  // what everyone has already
    Activations activations(rank, *batch, scaler.scale());
    for (const Unit& unit : model.units()) {
      rank.step("1. Forward", unit);
      // Each rank leaks as many elements as its number says, in every unit.
      leaked.push_back(rank.device.allocate(Memory::temporary, "leak", Dtype::fp16, comm.rank()));
      unit.forward(params[unit.range()], activations);
    }
    for (const Unit& unit : model.units_reversed()) {
      rank.step("2. Backward", unit);
      unit.backward(params[unit.range()], grads[unit.range()], activations);
      // Reduced piece by piece, the last piece first, and then sent around once more.
      const std::vector<Piece> pieces = partition.pieces(unit.range());
      for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
        comm.reduce(grads, grads, *piece);
      }
      for (const Piece& piece : pieces) comm.broadcast(grads, grads, piece);
    }

    rank.step("3. Only now");
    odd.release();
    const GradientNorm norm = scaler.unscale(comm.global_norm(grads, partition));
    if (norm.is_finite()) optimizer.step(grads[mine], norm.factor);
    scaler.update(norm);
    optimizer.copy_master_to(params[mine]);
    comm.all_gather(params, partition);
    rank.report(activations.loss(), norm, params, optimizer);
  }
}

}  // namespace zero

int main(int argc, char** argv) { return zero::launch(argc, argv, zero::train, zero::kClosedForm); }
