// Dynamic loss scaling (Micikevicius et al. 2018, section 3.2).
#include "common/train/loss_scaler.h"

#include <algorithm>

namespace zero {

LossScaler::LossScaler(const Options& options)
    : scale_(options.dtype == Dtype::fp16 ? static_cast<float>(options.loss_scale) : 1.0f),
      dynamic_(options.dtype == Dtype::fp16),
      window_(options.loss_scale_window),
      clip_(options.clip) {}

GradientNorm LossScaler::unscale(double scaled_norm) const {
  const double value = scaled_norm / scale_;
  const double clipping = clip_ > 0 ? std::min(1.0, clip_ / (value + 1e-6)) : 1.0;
  return {value, static_cast<float>(clipping / scale_), scale_};
}

void LossScaler::update(const GradientNorm& norm) {
  if (!dynamic_) return;
  if (!norm.is_finite()) {
    scale_ = std::max(1.0f, scale_ / 2);
    good_ = 0;
  } else if (++good_ == window_) {
    scale_ = std::min(0x1p24f, scale_ * 2);
    good_ = 0;
  }
}

}  // namespace zero
