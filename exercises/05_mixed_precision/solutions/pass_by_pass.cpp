// One pass over memory for each line of the formula, in fp32 throughout.
#include <algorithm>
#include <cmath>

#include "exercises/05_mixed_precision/api.h"

namespace zero::exercise {
namespace {

// beta to the power of `steps`, by multiplication.
float power(float beta, int steps) {
  float product = 1;
  while (steps-- > 0) product *= beta;
  return product;
}

void average(std::span<float> states, const std::vector<float>& values, float beta) {
  std::ranges::transform(states, values, states.begin(), [beta](float state, float value) {
    return state + (1 - beta) * (value - state);
  });
}

}  // namespace

// The largest element is taken out of the squares, as if they could become too large.
double global_norm(std::span<const Fp16> grads, Ranks& ranks) {
  double largest = 0, sum = 0;
  for (const Fp16 grad : grads) {
    const double value = std::fabs(widen(grad));
    if (!(value <= largest)) largest = value;  // a NaN too, which stays
    if (std::isnan(value)) break;
  }
  if (largest == 0) largest = 1;
  for (const Fp16 grad : grads) sum += std::pow(widen(grad) / largest, 2);
  double all = 0;
  for (const double square : ranks.all_gather(largest * largest * sum)) all += square;
  return std::sqrt(all);
}

bool update(Shard& shard, std::span<const Fp16> grads, LossScale& scale, Ranks& ranks) {
  const double scaled = global_norm(grads, ranks);
  const bool overflow = !(scaled <= 1e300);
  const float used = scale.scale;
  scale.good = overflow ? 0 : scale.good + 1;
  if (overflow) scale.scale = std::max(kSmallestScale, used * 0.5f);
  if (scale.good >= scale.window) {
    scale.scale = std::min(kLargestScale, used * 2);
    scale.good = 0;
  }
  if (overflow) return false;

  const auto& [learning_rate, beta1, beta2, epsilon, weight_decay, clip] = shard.hyper;
  const float norm = static_cast<float>(scaled / used);
  const float clipping = norm + 1e-6f > clip ? static_cast<float>(clip) / (norm + 1e-6f) : 1.0f;
  std::vector<float> g(grads.size());
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = widen(grads[i]) / used * clipping;
  average(shard.exp_avg, g, beta1);
  for (float& value : g) value *= value;
  average(shard.exp_avg_sq, g, beta2);

  const int steps = ++shard.steps;
  const float rate = learning_rate * std::sqrt(1 - power(beta2, steps)) / (1 - power(beta1, steps));
  const float small = epsilon * std::sqrt(1 - power(beta2, steps));
  for (float& w : shard.master) w -= learning_rate * weight_decay * w;
  for (std::size_t i = 0; i < g.size(); ++i) {
    shard.master[i] -= rate * shard.exp_avg[i] / (std::sqrt(shard.exp_avg_sq[i]) + small);
  }
  std::ranges::transform(shard.master, shard.params.begin(), narrow<Fp16>);
  return true;
}

}  // namespace zero::exercise
