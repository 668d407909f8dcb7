// A stage program in which one rank misbehaves, as the environment says, to see how the others end.
//
//   ZERO_FAIL=throw|sleep|return|size|order   what it does
//   ZERO_FAIL_RANK=r                          which rank, in iteration 2
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "common/train/rank.h"

namespace zero {
namespace {

constexpr ClosedForm kClosedForm{.parameters = Kept::whole,
                                 .gradients = Kept::whole,
                                 .optimizer_states = Kept::shard,
                                 .passes = 2};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

void train(Rank& rank) {
  const Partition partition(rank.model.num_parameters(), rank.comm.world_size());
  const Range mine = partition.shard(rank.comm.rank());
  Buffer params = rank.allocate(Memory::parameters, "params", partition.all());
  Buffer grads = rank.allocate(Memory::gradients, "grads", partition.all());
  rank.model.initialize(params);
  rank.device.zero(grads);
  AdamW optimizer(rank, params[mine]);
  LossScaler scaler(rank.options);
  const std::string how = variable("ZERO_FAIL");
  const bool bad = variable("ZERO_FAIL_RANK") == std::to_string(rank.comm.rank());

  while (rank.next_batch()) {
    rank.step("3. Reduce-scatter");
    if (bad && rank.place().iteration == 1) {
      if (how == "throw") {
        // Until the others have left iteration 1 and wait for this rank: that is what they say.
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        throw std::runtime_error("something went wrong here");
      }
      if (how == "sleep") std::this_thread::sleep_for(std::chrono::seconds(4));
      if (how == "return") return;
      if (how == "size")
        rank.comm.reduce_scatter(grads, Partition(partition.shard_size(), rank.comm.world_size()));
      if (how == "order") rank.comm.all_gather(params, partition);
    }
    rank.comm.reduce_scatter(grads, partition);
    const GradientNorm norm = scaler.unscale(rank.comm.global_norm(grads, partition));
    rank.step("6. All-gather");
    rank.comm.all_gather(params, partition);
    rank.report(0, norm, params, optimizer);
  }
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) { return zero::launch(argc, argv, zero::train, zero::kClosedForm); }
