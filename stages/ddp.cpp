// DDP: every rank keeps all parameters, gradients and optimizer states; only the batch is divided.
//
//   keeps, per rank        2N + 2N + 12N bytes
//   sends, per iteration   2 N (K-1)/K elements
#include "common/train/rank.h"

namespace zero {

// The same as data: the report sets it beside what is measured.
constexpr ClosedForm kClosedForm{.parameters = Kept::whole,
                                 .gradients = Kept::whole,
                                 .optimizer_states = Kept::whole,
                                 .passes = 2};

void train(Rank& rank) {
  Communicator& comm = rank.comm;
  const Model& model = rank.model;  // units: embedding, block 0 ... block L-1, head
  const Partition partition(model.num_parameters(), comm.world_size());  // K equal shards, padded

  Buffer params = rank.allocate(Memory::parameters, "params", partition.all());
  Buffer grads = rank.allocate(Memory::gradients, "grads", partition.all());
  model.initialize(params);
  AdamW optimizer(rank, params);  // master, exp_avg, exp_avg_sq: of all parameters
  LossScaler scaler(rank.options);

  while (const auto batch = rank.next_batch()) {
    Activations activations(rank, *batch, scaler.scale());  // this rank's micro-batch

    rank.step("1. Forward with the full parameters");
    for (const Unit& unit : model.units()) {
      unit.forward(params[unit.range()], activations);
    }

    rank.step("2. Backward: the full local gradients");
    for (const Unit& unit : model.units_reversed()) {
      unit.backward(params[unit.range()], grads[unit.range()], activations);
    }

    rank.step("3. All-reduce: each rank receives the average of all gradients");
    comm.all_reduce(grads, partition);

    rank.step("4. Update all of variance, momentum and fp32 parameters");
    // The norm of the whole gradient: one number, the same on every rank. If any rank overflowed,
    // it is not finite and every rank skips; steps 5 and 6 then repeat what is already there.
    const GradientNorm norm = scaler.unscale(comm.global_norm(grads, partition));
    if (norm.is_finite()) optimizer.step(grads, norm.factor);
    scaler.update(norm);

    rank.step("5. Copy the updated fp32 parameters to fp16");
    optimizer.copy_master_to(params);

    rank.step("6. Nothing to gather: each rank has updated all parameters itself");

    rank.report(activations.loss(), norm, params, optimizer);
  }
}

}  // namespace zero

int main(int argc, char** argv) { return zero::launch(argc, argv, zero::train, zero::kClosedForm); }
