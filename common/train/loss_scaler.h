// Dynamic loss scaling: one decision for all ranks, because it depends on the global norm only.
#pragma once

#include <cmath>

#include "common/train/options.h"

namespace zero {

// The norm of the whole averaged gradient, without the loss scale.
struct GradientNorm {
  double value = 0;
  float factor = 0;      // what each stored gradient is multiplied by: 1 / loss scale, and clipping
  float loss_scale = 1;  // that this iteration used

  bool is_finite() const { return std::isfinite(value); }
};

// With fp32 and bf16, whose exponents reach as far as needed, the scale is 1 and stays 1.
class LossScaler {
 public:
  explicit LossScaler(const Options& options);

  float scale() const { return scale_; }

  // scaled_norm as Communicator::global_norm returns it. Call before update: it uses this
  // iteration's scale. Clips as PyTorch does: factor = clip / (norm + 1e-6), at most 1.
  GradientNorm unscale(double scaled_norm) const;

  // Halves the scale after an overflow; doubles it after loss_scale_window iterations without one.
  void update(const GradientNorm& norm);

 private:
  float scale_;
  bool dynamic_;
  int window_;
  double clip_;
  int good_ = 0;
};

}  // namespace zero
