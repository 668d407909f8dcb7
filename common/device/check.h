// Sizes are checked before anything is written.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/memory/buffer.h"

namespace zero {

// Throws std::invalid_argument unless `view` holds `expected` elements:
// "layernorm_forward: weight has 5 elements, expected 7".
void check_size(std::string_view op, std::string_view name, const View& view,
                std::int64_t expected);

// Throws std::invalid_argument "op: complaint" unless `good`.
void check_shape(std::string_view op, bool good, std::string_view complaint);

// Throws std::out_of_range unless each of the `count` ids is in [0, limit).
void check_ids(std::string_view op, const std::int32_t* ids, std::int64_t count,
               std::int64_t limit);

// All sizes of the operators that take many, in the order in which every device looks at them. Ids
// are not looked at: only who holds them can.
void check_adamw(const View& master, const View& exp_avg, const View& exp_avg_sq,
                 const View& grads);
// Forward and backward, where `out` and the tables are gradients.
void check_embedding(std::string_view op, const View& out, const View& tokens, const View& wte,
                     const View& wpe, std::int64_t R, int T, int C);
void check_layernorm_forward(const View& out, const View& mean, const View& rstd, const View& x,
                             const View& weight, const View& bias, int R, int C);
void check_layernorm_backward(const View& dx, const View& dweight, const View& dbias,
                              const View& dout, const View& x, const View& mean, const View& rstd,
                              const View& weight, int R, int C);
void check_linear_forward(const View& out, const View& x, const View& weight, const View& bias,
                          int R, int I, int O);
void check_linear_backward(const View& dx, const View& dweight, const View& dbias, const View& dout,
                           const View& x, const View& weight, int R, int I, int O);
void check_attention_forward(const View& out, const View& att, const View& qkv, int B, int T, int C,
                             int H);
void check_attention_backward(const View& dqkv, const View& dout, const View& qkv, const View& att,
                              int B, int T, int C, int H);
void check_cross_entropy_forward(const View& logits, const View& log_sum, const View& targets,
                                 int R, int V);
void check_cross_entropy_backward(const View& dlogits, const View& logits, const View& log_sum,
                                  const View& targets, int R, int V);

}  // namespace zero
