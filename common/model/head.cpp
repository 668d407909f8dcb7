// The last unit: the final layernorm, the logits and the loss.
#include "common/model/activations.h"
#include "common/model/units.h"

namespace zero {
namespace {

enum Tensor { ln_f_weight, ln_f_bias, lm_head_weight };  // in the order of the layout

}  // namespace

void HeadUnit::do_forward(View params, Activations& a) const {
  const int C = a.config_.channels, V = a.config_.vocab, R = a.R_;
  a.ln_f_ = a.allocate("ln_f", std::int64_t{R} * C);
  a.ln_f_mean_ = a.allocate_fp32("ln_f_mean", R);
  a.ln_f_rstd_ = a.allocate_fp32("ln_f_rstd", R);
  a.device_.layernorm_forward(a.ln_f_, a.ln_f_mean_, a.ln_f_rstd_, a.stream_.back(),
                              tensor(params, ln_f_weight), tensor(params, ln_f_bias), R, C);

  a.logits_ = a.allocate("logits", std::int64_t{R} * V);
  a.device_.linear_forward(a.logits_, a.ln_f_, tensor(params, lm_head_weight), View(), R, C, V);

  a.log_sum_ = a.allocate_fp32("log_sum", R);
  a.loss_ = a.device_.cross_entropy_forward(a.logits_, a.log_sum_, a.targets_, R, V) / R;
}

void HeadUnit::do_backward(View params, View grads, Activations& a) const {
  const int C = a.config_.channels, V = a.config_.vocab, R = a.R_;
  // The loss is the mean over R tokens; its scale travels back with every gradient.
  const float factor = a.loss_scale_ * a.loss_weight_ / static_cast<float>(R);
  a.device_.cross_entropy_backward(a.logits_, a.logits_, a.log_sum_, a.targets_, factor, R, V);
  a.log_sum_.release();
  a.targets_.release();

  Buffer d_ln_f = a.allocate("d_ln_f", std::int64_t{R} * C);
  a.device_.linear_backward(d_ln_f, tensor(grads, lm_head_weight), View(), a.logits_, a.ln_f_,
                            tensor(params, lm_head_weight), R, C, V);
  a.logits_.release();
  a.ln_f_.release();

  // Here the gradient of the residual stream begins.
  a.d_stream_ = a.allocate("d_stream", std::int64_t{R} * C);
  a.device_.zero(a.d_stream_);
  a.device_.layernorm_backward(a.d_stream_, tensor(grads, ln_f_weight), tensor(grads, ln_f_bias),
                               d_ln_f, a.stream_.back(), a.ln_f_mean_, a.ln_f_rstd_,
                               tensor(params, ln_f_weight), R, C);
  a.stream_.back().release();
  a.ln_f_mean_.release();
  a.ln_f_rstd_.release();
}

}  // namespace zero
