// A flag for the overflow, gathered by itself, and then a norm of finite numbers; states in fp64.
#include <cmath>
#include <limits>
#include <numeric>

#include "exercises/05_mixed_precision/api.h"

namespace zero::exercise {
namespace {

bool any_rank(bool here, Ranks& ranks) {
  for (const double flag : ranks.all_gather(here ? 1 : 0)) {
    if (flag != 0) return true;
  }
  return false;
}

bool has_overflow(std::span<const Fp16> grads) {
  for (const Fp16 grad : grads) {
    if ((grad.bits & 0x7c00u) == 0x7c00u) return true;  // the exponent of infinities and NaNs
  }
  return false;
}

double finite_norm(std::span<const Fp16> grads, Ranks& ranks) {
  double sum = 0;
  for (const Fp16 grad : grads) sum = std::fma(widen(grad), widen(grad), sum);
  const std::vector<double> sums = ranks.all_gather(sum);
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

}  // namespace

double global_norm(std::span<const Fp16> grads, Ranks& ranks) {
  if (any_rank(has_overflow(grads), ranks)) return std::numeric_limits<double>::infinity();
  return finite_norm(grads, ranks);
}

bool update(Shard& shard, std::span<const Fp16> grads, LossScale& scale, Ranks& ranks) {
  if (any_rank(has_overflow(grads), ranks)) {
    scale.scale = scale.scale > kSmallestScale ? scale.scale / 2 : scale.scale;
    scale.good = 0;
    return false;
  }
  const double norm = finite_norm(grads, ranks) / scale.scale;
  const double wanted = shard.hyper.clip / (norm + 1e-6);
  const double factor = (wanted < 1 ? wanted : 1) / scale.scale;
  const double beta1 = shard.hyper.beta1, beta2 = shard.hyper.beta2;
  shard.steps += 1;
  for (std::size_t i = 0; i < shard.params.size(); ++i) {
    const double g = widen(grads[i]) * factor;
    const double m = beta1 * shard.exp_avg[i] + (1 - beta1) * g;
    const double v = beta2 * shard.exp_avg_sq[i] + (1 - beta2) * g * g;
    const double m_hat = m / (1 - std::pow(beta1, shard.steps));
    const double v_hat = v / (1 - std::pow(beta2, shard.steps));
    double w = shard.master[i];
    w *= 1 - double{shard.hyper.learning_rate} * shard.hyper.weight_decay;
    w -= shard.hyper.learning_rate * m_hat / (std::sqrt(v_hat) + shard.hyper.epsilon);
    shard.exp_avg[i] = static_cast<float>(m);
    shard.exp_avg_sq[i] = static_cast<float>(v);
    shard.master[i] = static_cast<float>(w);
    shard.params[i] = narrow<Fp16>(shard.master[i]);
  }
  scale.good += 1;
  if (scale.good < scale.window) return true;
  scale.good = 0;
  if (scale.scale < kLargestScale) scale.scale *= 2;
  return true;
}

}  // namespace zero::exercise
