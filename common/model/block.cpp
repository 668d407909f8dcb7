// One transformer block: forward keeps what backward needs, backward releases it as it goes.
#include "common/model/activations.h"
#include "common/model/units.h"

namespace zero {
namespace {

// In the order of the layout. c_attn and attn_proj belong to the attention, c_fc and mlp_proj to
// the multi-layer perceptron; each linear layer is a weight (out, in) and a bias (out).
enum Tensor {
  ln_1_weight,
  ln_1_bias,
  c_attn_weight,  // (3*C, C)
  c_attn_bias,
  attn_proj_weight,  // (C, C)
  attn_proj_bias,
  ln_2_weight,
  ln_2_bias,
  c_fc_weight,  // (4*C, C)
  c_fc_bias,
  mlp_proj_weight,  // (C, 4*C)
  mlp_proj_bias
};

}  // namespace

void BlockUnit::do_forward(View params, Activations& a) const {
  forward_attention(params, a);
  forward_mlp(params, a);
}

void BlockUnit::do_backward(View params, View grads, Activations& a) const {
  backward_mlp(params, grads, a);
  backward_attention(params, grads, a);
}

// middle = x + c_proj(attention(c_attn(ln_1(x))))
void BlockUnit::forward_attention(View params, Activations& a) const {
  Device& device = a.device_;
  const int B = a.B_, T = a.T_, C = a.config_.channels, H = a.config_.heads, R = a.R_;
  const std::int64_t RC = std::int64_t{R} * C;
  const View x = a.stream_[layer_];  // (R, C)
  Activations::Block& kept = a.blocks_[layer_];

  kept.ln_1 = a.allocate("ln_1", RC);
  kept.ln_1_mean = a.allocate_fp32("ln_1_mean", R);
  kept.ln_1_rstd = a.allocate_fp32("ln_1_rstd", R);
  device.layernorm_forward(kept.ln_1, kept.ln_1_mean, kept.ln_1_rstd, x,
                           tensor(params, ln_1_weight), tensor(params, ln_1_bias), R, C);

  kept.qkv = a.allocate("qkv", 3 * RC);
  device.linear_forward(kept.qkv, kept.ln_1, tensor(params, c_attn_weight),
                        tensor(params, c_attn_bias), R, C, 3 * C);

  kept.att = a.allocate("att", std::int64_t{R} * H * T);
  kept.att_out = a.allocate("att_out", RC);
  device.attention_forward(kept.att_out, kept.att, kept.qkv, B, T, C, H);

  kept.middle = a.allocate("middle", RC);
  device.linear_forward(kept.middle, kept.att_out, tensor(params, attn_proj_weight),
                        tensor(params, attn_proj_bias), R, C, C);
  device.residual_forward(kept.middle, kept.middle, x);
}

// the next block's x = middle + c_proj(gelu(c_fc(ln_2(middle))))
void BlockUnit::forward_mlp(View params, Activations& a) const {
  Device& device = a.device_;
  const int C = a.config_.channels, R = a.R_;
  const std::int64_t RC = std::int64_t{R} * C;
  Activations::Block& kept = a.blocks_[layer_];

  kept.ln_2 = a.allocate("ln_2", RC);
  kept.ln_2_mean = a.allocate_fp32("ln_2_mean", R);
  kept.ln_2_rstd = a.allocate_fp32("ln_2_rstd", R);
  device.layernorm_forward(kept.ln_2, kept.ln_2_mean, kept.ln_2_rstd, kept.middle,
                           tensor(params, ln_2_weight), tensor(params, ln_2_bias), R, C);

  kept.fc = a.allocate("fc", 4 * RC);
  device.linear_forward(kept.fc, kept.ln_2, tensor(params, c_fc_weight), tensor(params, c_fc_bias),
                        R, C, 4 * C);
  kept.gelu = a.allocate("gelu", 4 * RC);
  device.gelu_forward(kept.gelu, kept.fc);

  Buffer& out = a.stream_[layer_ + 1];
  out = a.allocate("stream", RC);
  device.linear_forward(out, kept.gelu, tensor(params, mlp_proj_weight),
                        tensor(params, mlp_proj_bias), R, 4 * C, C);
  device.residual_forward(out, out, kept.middle);
}

// d_stream arrives as the gradient of the block's output and leaves as that of `middle`: the
// residual connection passes it on as it is, and the layernorm adds its own.
void BlockUnit::backward_mlp(View params, View grads, Activations& a) const {
  Device& device = a.device_;
  const int C = a.config_.channels, R = a.R_;
  const std::int64_t RC = std::int64_t{R} * C;
  Activations::Block& kept = a.blocks_[layer_];

  Buffer d_fc = a.allocate("d_fc", 4 * RC);  // first the gradient of the GELU's output
  device.linear_backward(d_fc, tensor(grads, mlp_proj_weight), tensor(grads, mlp_proj_bias),
                         a.d_stream_, kept.gelu, tensor(params, mlp_proj_weight), R, 4 * C, C);
  kept.gelu.release();
  device.gelu_backward(d_fc, d_fc, kept.fc);
  kept.fc.release();

  Buffer d_ln_2 = a.allocate("d_ln_2", RC);
  device.linear_backward(d_ln_2, tensor(grads, c_fc_weight), tensor(grads, c_fc_bias), d_fc,
                         kept.ln_2, tensor(params, c_fc_weight), R, C, 4 * C);
  d_fc.release();
  kept.ln_2.release();

  device.layernorm_backward(a.d_stream_, tensor(grads, ln_2_weight), tensor(grads, ln_2_bias),
                            d_ln_2, kept.middle, kept.ln_2_mean, kept.ln_2_rstd,
                            tensor(params, ln_2_weight), R, C);
  kept.middle.release();
  kept.ln_2_mean.release();
  kept.ln_2_rstd.release();
}

// d_stream: from the gradient of `middle` to that of the block's input.
void BlockUnit::backward_attention(View params, View grads, Activations& a) const {
  Device& device = a.device_;
  const int B = a.B_, T = a.T_, C = a.config_.channels, H = a.config_.heads, R = a.R_;
  const std::int64_t RC = std::int64_t{R} * C;
  Activations::Block& kept = a.blocks_[layer_];

  Buffer d_att_out = a.allocate("d_att_out", RC);
  device.linear_backward(d_att_out, tensor(grads, attn_proj_weight), tensor(grads, attn_proj_bias),
                         a.d_stream_, kept.att_out, tensor(params, attn_proj_weight), R, C, C);
  kept.att_out.release();

  Buffer d_qkv = a.allocate("d_qkv", 3 * RC);
  device.attention_backward(d_qkv, d_att_out, kept.qkv, kept.att, B, T, C, H);
  kept.att.release();
  kept.qkv.release();
  d_att_out.release();

  Buffer d_ln_1 = a.allocate("d_ln_1", RC);
  device.linear_backward(d_ln_1, tensor(grads, c_attn_weight), tensor(grads, c_attn_bias), d_qkv,
                         kept.ln_1, tensor(params, c_attn_weight), R, C, 3 * C);
  d_qkv.release();
  kept.ln_1.release();

  Buffer& x = a.stream_[layer_];
  device.layernorm_backward(a.d_stream_, tensor(grads, ln_1_weight), tensor(grads, ln_1_bias),
                            d_ln_1, x, kept.ln_1_mean, kept.ln_1_rstd, tensor(params, ln_1_weight),
                            R, C);
  x.release();
  kept.ln_1_mean.release();
  kept.ln_1_rstd.release();
}

}  // namespace zero
