// ZeRO-2: every rank keeps all parameters, but only 1/K of the gradients and optimizer states.
//
//   keeps, per rank        2N + 2N/K + 12N/K bytes; for a while, one unit's grads
//   sends, per iteration   2 N (K-1)/K elements
#include "common/train/rank.h"

namespace zero {

// The same as data: the report sets it beside what is measured.
constexpr ClosedForm kClosedForm{.parameters = Kept::whole,
                                 .gradients = Kept::shard,
                                 .optimizer_states = Kept::shard,
                                 .passes = 2};

void train(Rank& rank) {
  Communicator& comm = rank.comm;
  const Model& model = rank.model;  // units: embedding, block 0 ... block L-1, head
  const Partition partition(model.num_parameters(), comm.world_size());  // K equal shards, padded
  const Range mine = partition.shard(comm.rank());

  Buffer params = rank.allocate(Memory::parameters, "params", partition.all());
  Buffer grads_shard = rank.allocate(Memory::gradients, "grads_shard", mine);
  model.initialize(params);
  AdamW optimizer(rank, params[mine]);  // master, exp_avg, exp_avg_sq: of this shard only
  LossScaler scaler(rank.options);

  while (const auto batch = rank.next_batch()) {
    Activations activations(rank, *batch, scaler.scale());  // this rank's micro-batch

    rank.step("1. Forward with the full parameters");
    for (const Unit& unit : model.units()) {
      unit.forward(params[unit.range()], activations);
    }

    for (const Unit& unit : model.units_reversed()) {
      rank.step("2. Backward: the local gradients of one unit", unit);
      Buffer unit_grads = rank.allocate(Memory::temporary, "unit_grads", unit.range());
      unit.backward(params[unit.range()], unit_grads, activations);

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
    optimizer.copy_master_to(params[mine]);

    rank.step("6. All-gather the updated fp16 parameters");
    comm.all_gather(params, partition);

    rank.report(activations.loss(), norm, params, optimizer);
  }
}

}  // namespace zero

int main(int argc, char** argv) { return zero::launch(argc, argv, zero::train, zero::kClosedForm); }
