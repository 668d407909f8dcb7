// What an answer to exercise 05 is written against: one rank's shard, and how ranks share a number.
#pragma once

#include <span>
#include <vector>

#include "common/memory/dtype.h"
#include "exercises/api/blank.h"

namespace zero::exercise {

// One rank's connection to the others.
class Ranks {
 public:
  virtual int rank() const = 0;        // this rank, 0 to K-1
  virtual int world_size() const = 0;  // K

  // One number per rank, in rank order: the same vector (K) on every rank. Every rank has to call
  // it; it blocks until all have.
  virtual std::vector<double> all_gather(double mine) = 0;

 protected:
  ~Ranks() = default;
};

// The same on every rank, and never changed.
struct Hyperparameters {
  float learning_rate, beta1, beta2, epsilon, weight_decay;
  double clip;  // the largest norm of the gradient that is used; more than 0
};

// What one rank keeps: n parameters of the model, and their optimizer states. The last elements of
// the last rank may be padding: zeros, which stay zeros.
struct Shard {
  std::span<Fp16> params;       // (n), always the master, rounded
  std::span<float> master;      // (n), the parameters in fp32
  std::span<float> exp_avg;     // (n)
  std::span<float> exp_avg_sq;  // (n)
  int steps = 0;                // updates so far, those that were skipped not counted
  Hyperparameters hyper;
};

// Every rank has its own copy, and all copies are always the same.
struct LossScale {
  float scale;   // what the gradients have been multiplied by; a power of 2
  int window;    // iterations without an overflow after which the scale is doubled
  int good = 0;  // iterations since the last overflow or doubling
};

constexpr float kSmallestScale = 1.0f, kLargestScale = 0x1p24f;

// The 2-norm of the whole gradient, as it is: scaled. `grads` (n) is this rank's shard of the
// average over the ranks. Squares are added in fp64, and the ranks' sums in rank order: the same
// bits on every rank. Infinite or NaN if an element of any rank is, and only then.
double global_norm(std::span<const Fp16> grads, Ranks& ranks);

// One iteration's update of this rank's shard with its shard of the averaged, scaled gradients (n).
// Returns whether it was done: false, on every rank, where an element of any rank's gradients is
// infinite or NaN; `shard` is then not changed. In either case `scale` gets ready for the next
// iteration.
bool update(Shard& shard, std::span<const Fp16> grads, LossScale& scale, Ranks& ranks);

}  // namespace zero::exercise
