// A class for each of the three decisions: how long the gradient is, whether to skip, how to step.
#include <cmath>
#include <optional>

#include "exercises/05_mixed_precision/api.h"

namespace zero::exercise {
namespace {

// Sums in extended precision where the machine has it; each rank's sum leaves as fp64.
class Norm {
 public:
  explicit Norm(std::span<const Fp16> grads) {
    // Backwards: the order within a shard is free.
    for (std::size_t i = grads.size(); i-- > 0;) {
      const long double value = widen(grads[i]);
      sum_ += value * value;
    }
  }
  double over(Ranks& ranks) const {
    const std::vector<double> sums = ranks.all_gather(static_cast<double>(sum_));
    long double all = 0;
    for (int rank = 0; rank < ranks.world_size(); ++rank) all += sums.at(rank);
    return static_cast<double>(std::sqrt(all));
  }

 private:
  long double sum_ = 0;
};

class Scaler {
 public:
  explicit Scaler(LossScale& scale) : scale_(scale) {}

  // The norm without the scale, or nothing after an overflow.
  std::optional<double> unscaled(double norm) const {
    if (std::isnan(norm) || std::isinf(norm)) return std::nullopt;
    return norm / scale_.scale;
  }
  void overflowed() {
    scale_.scale = std::fmax(scale_.scale * 0.5f, kSmallestScale);
    scale_.good = 0;
  }
  void went_well() {
    scale_.good = (scale_.good + 1) % scale_.window;
    if (scale_.good == 0) scale_.scale = std::fmin(scale_.scale * 2, kLargestScale);
  }

 private:
  LossScale& scale_;
};

class Optimizer {
 public:
  Optimizer(Shard& shard, double factor)
      : shard_(shard),
        factor_(factor),
        correction1_(1 - std::pow(shard.hyper.beta1, shard.steps + 1)),
        correction2_(1 - std::pow(shard.hyper.beta2, shard.steps + 1)) {}

  void step(std::span<const Fp16> grads) {
    for (std::size_t i = 0; i < grads.size(); ++i)
      one(i, static_cast<float>(widen(grads[i]) * factor_));
    shard_.steps++;
  }

 private:
  void one(std::size_t i, float grad) {
    const Hyperparameters& h = shard_.hyper;
    shard_.exp_avg[i] = std::lerp(grad, shard_.exp_avg[i], h.beta1);
    shard_.exp_avg_sq[i] = std::lerp(grad * grad, shard_.exp_avg_sq[i], h.beta2);
    const double direction = shard_.exp_avg[i] / correction1_ /
                             (std::sqrt(shard_.exp_avg_sq[i] / correction2_) + h.epsilon);
    const double w = shard_.master[i];
    shard_.master[i] =
        static_cast<float>(w - h.learning_rate * direction - h.learning_rate * h.weight_decay * w);
    shard_.params[i] = narrow<Fp16>(shard_.master[i]);
  }

  Shard& shard_;
  double factor_, correction1_, correction2_;
};

}  // namespace

double global_norm(std::span<const Fp16> grads, Ranks& ranks) { return Norm(grads).over(ranks); }

bool update(Shard& shard, std::span<const Fp16> grads, LossScale& scale, Ranks& ranks) {
  Scaler scaler(scale);
  const std::optional<double> norm = scaler.unscaled(global_norm(grads, ranks));
  if (!norm) {
    scaler.overflowed();
    return false;
  }
  const double shorter = *norm + 1e-6 > shard.hyper.clip ? shard.hyper.clip / (*norm + 1e-6) : 1;
  Optimizer(shard, shorter / scale.scale).step(grads);
  scaler.went_well();
  return true;
}

}  // namespace zero::exercise
