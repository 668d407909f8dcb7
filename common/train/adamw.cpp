// AdamW (Loshchilov and Hutter 2019, algorithm 2) with linear warm-up.
#include "common/train/adamw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/train/rank.h"

namespace zero {
namespace {
constexpr float kBeta1 = 0.9f, kBeta2 = 0.999f, kEpsilon = 1e-8f;
}

AdamW::AdamW(Rank& rank, View params) : rank_(rank), master_(params) {
  const Range range = params.range();
  const auto allocate = [&](std::string_view name) {
    return rank.device.allocate(Memory::optimizer_states, name, Dtype::fp32, range);
  };
  if (params.dtype() != Dtype::fp32) {
    master_copy_ = allocate("master");
    master_ = master_copy_;
    rank.device.copy(params, master_);
    rank.device.wrote(master_, Written::initial);
  }
  exp_avg_ = allocate("exp_avg");
  exp_avg_sq_ = allocate("exp_avg_sq");
  if (rank.options.fp32_grads) fp32_grads_ = allocate("fp32_grads");
  for (const View state : {exp_avg_.view(), exp_avg_sq_.view()}) {
    rank.device.zero(state);
    rank.device.wrote(state, Written::zero);
  }
}

void AdamW::step(View grads, float grad_factor) {
  if (grads.range() != range()) {
    throw std::invalid_argument(
        fmt::format("AdamW::step: the states are of [{}, {}), the gradients of [{}, {})",
                    range().begin, range().end, grads.range().begin, grads.range().end));
  }
  if (!fp32_grads_.empty()) {
    rank_.device.copy(grads, fp32_grads_);
    rank_.device.wrote(fp32_grads_, Written::cast);
    grads = fp32_grads_;
  }
  ++steps_;
  const Options& options = rank_.options;
  const double warm = options.warmup > 0 ? std::min(1.0, double(steps_) / options.warmup) : 1.0;
  AdamWStep step{.learning_rate = static_cast<float>(options.learning_rate * warm),
                 .beta1 = kBeta1,
                 .beta2 = kBeta2,
                 .epsilon = kEpsilon,
                 .weight_decay = 0,
                 .correction1 = static_cast<float>(1 - std::pow(double{kBeta1}, steps_)),
                 .correction2 = static_cast<float>(1 - std::pow(double{kBeta2}, steps_)),
                 .grad_factor = grad_factor};
  const auto update = [&](Range part, double weight_decay) {
    if (part.empty()) return;
    step.weight_decay = static_cast<float>(weight_decay);
    rank_.device.adamw(master_[part], exp_avg_[part], exp_avg_sq_[part], grads[part], step);
  };
  for (const Unit& unit : rank_.model.units()) {
    for (const TensorInfo& tensor : unit.tensors()) {
      update(tensor.range.intersect(range()), tensor.decay ? options.weight_decay : 0.0);
    }
    update(Range{unit.parameters().end, unit.range().end}.intersect(range()), 0.0);  // padding
  }
  for (const View state : {master_, exp_avg_.view(), exp_avg_sq_.view()})
    rank_.device.wrote(state, Written::updated);
}

void AdamW::copy_master_to(View params) const {
  if (master_copy_.empty()) return;
  rank_.device.copy(master_, params);
  rank_.device.wrote(params, Written::cast);
}

}  // namespace zero
