// Mixed precision: one norm, one decision, and an update of the fp32 states.
#include <algorithm>
#include <cmath>

#include "exercises/05_mixed_precision/api.h"

namespace zero::exercise {

double global_norm(std::span<const Fp16> grads, Ranks& ranks) {
  double mine = 0;
  for (const Fp16 grad : grads) mine += static_cast<double>(widen(grad)) * widen(grad);
  double all = 0;
  for (const double sum : ranks.all_gather(mine)) all += sum;
  return std::sqrt(all);
}

bool update(Shard& shard, std::span<const Fp16> grads, LossScale& scale, Ranks& ranks) {
  // The same number on every rank, and so the same decision.
  const double norm = global_norm(grads, ranks) / scale.scale;
  if (!std::isfinite(norm)) {
    scale.scale = std::max(kSmallestScale, scale.scale / 2);
    scale.good = 0;
    return false;
  }
  const Hyperparameters& hyper = shard.hyper;
  const double clipping = std::min(1.0, hyper.clip / (norm + 1e-6));
  const float factor = static_cast<float>(clipping / scale.scale);
  ++shard.steps;
  const float correction1 = static_cast<float>(1 - std::pow(double{hyper.beta1}, shard.steps));
  const float correction2 = static_cast<float>(1 - std::pow(double{hyper.beta2}, shard.steps));
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const float grad = widen(grads[i]) * factor;
    float& w = shard.master[i];
    float& m = shard.exp_avg[i];
    float& v = shard.exp_avg_sq[i];
    m = hyper.beta1 * m + (1 - hyper.beta1) * grad;
    v = hyper.beta2 * v + (1 - hyper.beta2) * grad * grad;
    const float direction = m / correction1 / (std::sqrt(v / correction2) + hyper.epsilon);
    w -= hyper.learning_rate * (direction + hyper.weight_decay * w);
    shard.params[i] = narrow<Fp16>(w);
  }
  if (++scale.good == scale.window) {
    scale.scale = std::min(kLargestScale, scale.scale * 2);
    scale.good = 0;
  }
  return true;
}

}  // namespace zero::exercise
