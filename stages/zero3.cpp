// ZeRO-3: every rank keeps only 1/K of the parameters, gradients and optimizer states.
//
//   keeps, per rank        2N/K + 2N/K + 12N/K bytes; for a while, one unit's params, grads
//   sends, per iteration   3 N (K-1)/K elements
#include "common/train/rank.h"

namespace zero {

// The same as data: the report sets it beside what is measured.
constexpr ClosedForm kClosedForm{.parameters = Kept::shard,
                                 .gradients = Kept::shard,
                                 .optimizer_states = Kept::shard,
                                 .passes = 3};

void train(Rank& rank) {
  Communicator& comm = rank.comm;
  const Model& model = rank.model;  // units: embedding, block 0 ... block L-1, head
  const Partition partition(model.num_parameters(), comm.world_size());  // K equal shards, padded
  const Range mine = partition.shard(comm.rank());

  Buffer params_shard = rank.allocate(Memory::parameters, "params_shard", mine);
  Buffer grads_shard = rank.allocate(Memory::gradients, "grads_shard", mine);
  model.initialize(params_shard);
  AdamW optimizer(rank, params_shard);  // master, exp_avg, exp_avg_sq: of this shard only
  LossScaler scaler(rank.options);

  while (const auto batch = rank.next_batch()) {
    Activations activations(rank, *batch, scaler.scale());  // this rank's micro-batch

    for (const Unit& unit : model.units()) {
      rank.step("1. Forward: each owner broadcasts its piece of a unit just before it runs", unit);
      Buffer unit_params = rank.allocate(Memory::temporary, "unit_params", unit.range());
      for (const Piece& piece : partition.pieces(unit.range())) {
        comm.broadcast(params_shard, unit_params, piece);
      }
      unit.forward(unit_params, activations);
      unit_params.release();
    }

    for (const Unit& unit : model.units_reversed()) {
      rank.step("2. Backward: the unit's parameters again, then its local gradients", unit);
      Buffer unit_params = rank.allocate(Memory::temporary, "unit_params", unit.range());
      for (const Piece& piece : partition.pieces(unit.range())) {
        comm.broadcast(params_shard, unit_params, piece);
      }
      Buffer unit_grads = rank.allocate(Memory::temporary, "unit_grads", unit.range());
      unit.backward(unit_params, unit_grads, activations);
      unit_params.release();

      rank.step("3. Reduce each piece of these gradients to its owner, who receives the average",
                unit);
      for (const Piece& piece : partition.pieces(unit.range())) {
        comm.reduce(unit_grads, grads_shard, piece);
      }
      unit_grads.release();
    }

    rank.step("4. Update the own shard of variance, momentum and fp32 parameters");
    // The norm of the whole gradient: one number, the same on every rank. If any rank overflowed,
    // it is not finite and every rank skips; steps 5 and 6 then repeat what is already there.
    const GradientNorm norm = scaler.unscale(comm.global_norm(grads_shard, partition));
    if (norm.is_finite()) optimizer.step(grads_shard, norm.factor);
    scaler.update(norm);

    rank.step("5. Copy the updated fp32 parameters to fp16");
    optimizer.copy_master_to(params_shard);

    rank.step("6. Nothing to gather: the parameters stay sharded");

    rank.report(activations.loss(), norm, params_shard, optimizer);
  }
}

}  // namespace zero

int main(int argc, char** argv) { return zero::launch(argc, argv, zero::train, zero::kClosedForm); }
